package exchange

import (
	"strings"
)

// Op is what an edit does.
type Op uint8

// Operations on header fields.
const (
	Set Op = iota // replaces every line of the field
	Add
	Delete
)

// Edit is one change of a header.
type Edit struct {
	Op    Op
	Name  string
	Value string
}

// SetHeader edits the request on its way to the backend.
func (x *Exchange) SetHeader(name, value string) {
	x.Edits = append(x.Edits, Edit{Set, name, value})
}

// DeleteHeader removes a field from the request on its way to the backend.
func (x *Exchange) DeleteHeader(name string) {
	x.Edits = append(x.Edits, Edit{Op: Delete, Name: name})
}

// HasHeader implements router.Request.
func (x *Exchange) HasHeader(name, value string, bare bool) bool {
	found := false
	x.Header.Each(func(n, v string) bool {
		found = strings.EqualFold(n, name) && (bare || v == value)
		return !found
	})
	return found
}

// Outgoing calls add for every field line that goes to the backend: hop-by-hop
// fields and what Connection names are gone (RFC 9110 section 7.6.1), aliases of
// managed fields too, edits are made.
func (x *Exchange) Outgoing(add func(name, value string)) {
	drop := newDropper(x.Header)
	x.Header.Each(func(name, value string) bool {
		if !drop.drops(name) && !managedAlias(name) && !edited(x.Edits, name) {
			add(name, value)
		}
		return true
	})
	applyEdits(x.Edits, add)
}

// OutgoingResponse calls add for every field line of a response head that goes to
// the client.
func (x *Exchange) OutgoingResponse(h Header, add func(name, value string)) {
	drop := newDropper(h)
	h.Each(func(name, value string) bool {
		if !drop.drops(name) && !edited(x.ResponseEdits, name) {
			add(name, value)
		}
		return true
	})
	applyEdits(x.ResponseEdits, add)
}

// edited reports whether an edit replaces or removes the field.
func edited(edits []Edit, name string) bool {
	for i := range edits {
		if edits[i].Op != Add && strings.EqualFold(edits[i].Name, name) {
			return true
		}
	}
	return false
}

// applyEdits adds what the edits leave: a later Set or Delete of a field wins over
// what came before it.
func applyEdits(edits []Edit, add func(name, value string)) {
	for i := range edits {
		if edits[i].Op != Delete && !edited(edits[i+1:], edits[i].Name) {
			add(edits[i].Name, edits[i].Value)
		}
	}
}

// dropper knows the hop-by-hop fields of one message.
type dropper struct {
	connection string // the Connection field's values, joined
}

func newDropper(h Header) dropper {
	var d dropper
	h.Each(func(name, value string) bool {
		if strings.EqualFold(name, "Connection") {
			if d.connection != "" {
				d.connection += ","
			}
			d.connection += value
		}
		return true
	})
	return d
}

func (d dropper) drops(name string) bool {
	return hopByHop(name) || d.connection != "" && HasToken(d.connection, name)
}

// hopByHop reports whether a field always ends at the next hop.
func hopByHop(name string) bool {
	switch len(name) {
	case 2:
		return strings.EqualFold(name, "TE")
	case 7:
		return strings.EqualFold(name, "Trailer") || strings.EqualFold(name, "Upgrade")
	case 10:
		return strings.EqualFold(name, "Connection") || strings.EqualFold(name, "Keep-Alive")
	case 14:
		return strings.EqualFold(name, "HTTP2-Settings")
	case 16:
		return strings.EqualFold(name, "Proxy-Connection")
	case 17:
		return strings.EqualFold(name, "Transfer-Encoding")
	case 18:
		return strings.EqualFold(name, "Proxy-Authenticate")
	case 19:
		return strings.EqualFold(name, "Proxy-Authorization")
	}
	return false
}

// managed are the fields that the router sets; a client's spelling of one with
// underscores reaches CGI-like backends as the same variable and is dropped.
var managed = [...]string{
	"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-prefix",
	"x-forwarded-user", "x-real-ip", "forwarded", "remote-user", "x-forwarded-server", "proxy",
}

// managedAlias reports whether name is a managed field spelt with underscores, or
// Proxy, which CGI-like backends take for the variable HTTP_PROXY.
func managedAlias(name string) bool {
	if strings.EqualFold(name, "Proxy") {
		return true
	}
	if strings.IndexByte(name, '_') < 0 {
		return false
	}
	for _, m := range managed {
		if len(m) == len(name) && equalFoldUnderscore(name, m) {
			return true
		}
	}
	return false
}

func equalFoldUnderscore(name, lower string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_':
			c = '-'
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// HasToken reports whether a comma-separated list holds the token, without case.
func HasToken(list, token string) bool {
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, ",")
		if strings.EqualFold(strings.Trim(item, " \t"), token) {
			return true
		}
	}
	return false
}
