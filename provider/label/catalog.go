package label

import (
	"slices"
	"strings"
	"time"

	"fairlead/router/route"
)

// Availability says what this version does with a key.
type Availability string

// Availabilities. A key that comes later is accepted without an effect (I104),
// unless it protects: then the route answers 503 (E113).
const (
	Working    Availability = "working"
	Later      Availability = "later"
	Protecting Availability = "protecting"
)

// Level says to whom a key belongs when several containers declare one service
// (labels.md, "Conflicts").
type Level string

// Levels. Matchers tell entrypoints apart; options of an entrypoint are decided by
// its newest container; settings of a backend are never shared.
const (
	LevelContainer  Level = "container"
	LevelMatcher    Level = "matcher"
	LevelEntrypoint Level = "entrypoint"
	LevelBackend    Level = "backend"
)

// Key is one row of the label reference.
type Key struct {
	// Protocols is empty for the keys of the container itself (enable, network).
	Protocols []route.Protocol
	// Name is relative to the service. Families end in a name in angle brackets:
	// "headers.<Name>".
	Name      string
	Kind      Kind
	Accepts   string // "1-65535", "http, https, h2c"
	Default   string // "" when there is none
	BadValue  string // the code of a value that cannot be used, "" when any can
	Available Availability
	Level     Level
	// Secret is set when the value is never shown, Query when only what may hold
	// credentials is hidden (userinfo, query).
	Secret  bool
	Query   bool
	Meaning string

	values values
	// A number without a unit that makes a time below least, or above most, is hardly meant:
	// its author had another unit in mind. Zero is no bound.
	least, most time.Duration
}

// Family reports whether the key stands for many: its last part is chosen by the user.
func (k *Key) Family() bool { return strings.HasSuffix(k.Name, ">") }

// Keys returns the catalog: every key of the grammar in the order of the reference.
// The caller may change the result.
func Keys() []Key { return slices.Clone(catalog.keys) }

// key begins a row: a working option of the entrypoint.
func key(name string, v values, def, badValue, meaning string) Key {
	return Key{
		Name: name, Kind: v.kind, Accepts: v.accepts, Default: def, BadValue: badValue,
		Available: Working, Level: LevelEntrypoint, Meaning: meaning, values: v,
	}
}

func (k Key) of(l Level) Key { k.Level = l; return k }
func (k Key) later() Key     { k.Available = Later; return k }
func (k Key) protects() Key  { k.Available = Protecting; return k }
func (k Key) secret() Key    { k.Secret = true; return k }
func (k Key) hideQuery() Key { k.Query = true; return k }

func (k Key) likelyFrom(d time.Duration) Key { k.least = d; return k }
func (k Key) likelyTo(d time.Duration) Key   { k.most = d; return k }

// catalog is the one table of keys; it is never modified.
var catalog = newIndex(
	forProtocols(containerKeys()),
	forProtocols(httpKeys(), route.HTTP),
	forProtocols(backendHTTPKeys(), route.HTTP),
	forProtocols(protectionKeys(), route.HTTP),
	forProtocols(healthKeys(), route.HTTP),
	forProtocols(resilienceKeys(), route.HTTP),
	forProtocols(streamKeys(), route.TCP, route.UDP),
	forProtocols(tcpKeys(), route.TCP),
)

func forProtocols(keys []Key, p ...route.Protocol) []Key {
	for i := range keys {
		keys[i].Protocols = p
	}
	return keys
}

// index finds keys by their folded name.
type index struct {
	keys     []Key
	byName   map[scopedName]*Key
	families map[route.Protocol][]*Key // longest prefix first
	forms    map[route.Protocol][]form // what did-you-mean compares with
}

type scopedName struct {
	protocol route.Protocol // "" for the container itself
	name     string         // lower case
}

func newIndex(tables ...[]Key) index {
	ix := index{
		keys:     slices.Concat(tables...),
		byName:   map[scopedName]*Key{},
		families: map[route.Protocol][]*Key{},
		forms:    map[route.Protocol][]form{},
	}
	for i := range ix.keys {
		k := &ix.keys[i]
		protocols := k.Protocols
		if len(protocols) == 0 {
			protocols = []route.Protocol{""}
		}
		for _, p := range protocols {
			if k.Family() {
				ix.families[p] = append(ix.families[p], k)
			} else {
				ix.byName[scopedName{p, fold(k.Name)}] = k
			}
			ix.forms[p] = append(ix.forms[p], formsOf(k)...)
		}
	}
	for _, list := range ix.families {
		slices.SortStableFunc(list, func(a, b *Key) int { return len(b.Name) - len(a.Name) })
	}
	return ix
}

// find returns the key that a written name stands for, and for a family the part
// that the user chose, in the case as written. Nil means unknown.
func (ix index) find(p route.Protocol, written string) (k *Key, param string) {
	folded := fold(written)
	if k := ix.byName[scopedName{p, folded}]; k != nil {
		return k, ""
	}
	for _, k := range ix.families[p] {
		prefix := fold(k.Name[:strings.IndexByte(k.Name, '<')])
		if !strings.HasPrefix(folded, prefix) || len(folded) == len(prefix) {
			continue
		}
		param := written[len(prefix):]
		if strings.Count(param, ".") == strings.Count(k.Name, ">.") {
			return k, param
		}
	}
	return nil, ""
}

// must returns a key that the parser itself names.
func (ix index) must(p route.Protocol, name string) *Key {
	k, _ := ix.find(p, name)
	if k == nil {
		panic("label: no key " + name + " in the catalog") // a programming error, found by any test
	}
	return k
}

// fold lowers ASCII letters only: it keeps the length, and no other letter of
// Unicode may pass for one of a key.
func fold(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if c := b[j]; 'A' <= c && c <= 'Z' {
					b[j] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
