package label

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead/router/route"
)

// serviceKey identifies a declaration inside one candidate.
type serviceKey struct {
	protocol route.Protocol
	service  string
}

// stray is a label that belongs to no declaration.
type stray struct {
	entry
	segments []string // behind the prefix, as far as they can be a key
}

// found are the labels of one candidate that begin with our prefix.
type found struct {
	prefix    string // with the dot
	container map[string]entry
	services  map[serviceKey]*scope
	strays    []stray
	doubles   []entry // a key that was already there in another case
}

func (f *found) empty() bool {
	return len(f.container) == 0 && len(f.services) == 0 && len(f.strays) == 0
}

// order returns the declarations' keys, sorted.
func (f *found) order() []serviceKey {
	return slices.SortedFunc(maps.Keys(f.services), func(a, b serviceKey) int {
		return strings.Compare(string(a.protocol)+"."+a.service, string(b.protocol)+"."+b.service)
	})
}

// scan sorts a candidate's labels into declarations. Keys of other prefixes are not
// looked at. Labels are taken in their sorted order, so that nothing depends on the
// order of a map.
func scan(cfg *Config, labels map[string]string) *found {
	f := &found{prefix: cfg.prefix() + ".", container: map[string]entry{}, services: map[serviceKey]*scope{}}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if len(label) < len(f.prefix) || fold(label[:len(f.prefix)]) != f.prefix {
			continue
		}
		f.place(cfg, entryOf(len(f.prefix), label, labels[label]))
	}
	return f
}

func (f *found) place(cfg *Config, e entry) {
	segments := strings.SplitN(e.written[len(f.prefix):], ".", 3)
	if k, _ := catalog.find("", segments[0]); k != nil && len(segments) == 1 && !e.spoilt() {
		e.key = k
		f.put(f.container, fold(k.Name), e)
		return
	}
	protocol := route.Protocol(fold(segments[0]))
	known := protocol == route.HTTP || protocol == route.TCP || protocol == route.UDP
	if !known || len(segments) < 3 || segments[2] == "" || badService(segments[1]) != "" {
		f.strays = append(f.strays, stray{e, segments})
		return
	}
	s := f.scope(cfg, serviceKey{protocol, segments[1]})
	if e.key, e.param = catalog.find(protocol, segments[2]); e.spoilt() && e.param == "" {
		e.key = nil // a family says itself what is wrong with the name in it
	}
	f.put(s.entries, fold(e.label[len(s.prefix):]), e)
}

// scope returns the labels of a declaration, made when it is first met.
func (f *found) scope(cfg *Config, id serviceKey) *scope {
	s := f.services[id]
	if s == nil {
		s = &scope{
			cfg:     cfg,
			prefix:  f.prefix + string(id.protocol) + "." + id.service + ".",
			entries: map[string]entry{},
			advised: map[string]bool{},
			decl:    &Declaration{Protocol: id.protocol, Service: id.service, Set: map[string]string{}},
		}
		f.services[id] = s
	}
	return s
}

func (f *found) put(into map[string]entry, name string, e entry) {
	if first, taken := into[name]; taken {
		if first.text != e.text && !e.spoilt() {
			f.doubles = append(f.doubles, e)
		}
		return
	}
	into[name] = e
}

// badService says why a service name cannot be used: it becomes part of ids, URLs
// and log lines.
func badService(name string) string {
	switch {
	case name == "":
		return "the service name is empty"
	case len(name) > 100:
		return "the service name is longer than 100 bytes"
	case !utf8.ValidString(name):
		return "the service name is not valid UTF-8"
	case strings.ContainsFunc(name, notInService):
		return "the service name holds a character that is not a letter, a digit or one of - _ @ + ~ :"
	}
	return ""
}

// enabled reads the enable label. stated is false when there is none that is valid.
func (f *found) enabled(cfg *Config, r *report) (on, stated bool) {
	e, ok := f.container["enable"]
	if !ok {
		return cfg.ExposeByDefault, false
	}
	on, err := parseBool(e.text)
	if err != nil {
		r.add("W101", e.label, show(e.key, e.text), fmt.Sprintf("set %s=true", e.label),
			"not a boolean: the default, %t, is used", cfg.ExposeByDefault)
		return cfg.ExposeByDefault, false
	}
	return on, true
}

func (c *Config) prefix() string {
	if c.Prefix == "" {
		return DefaultPrefix
	}
	return fold(c.Prefix)
}
