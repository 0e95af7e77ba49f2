package exchange

import "strings"

// Op is what an edit does to a field.
type Op uint8

// Operations on header fields.
const (
	Set    Op = iota // replaces every line of the field
	Delete           // removes every line of the field
)

// Edit is one change of a header. Value may be secret.
type Edit struct {
	Op    Op
	Name  string
	Value string
}

// SetHeader edits the request on its way to the backend.
func (x *Exchange) SetHeader(name, value string) {
	x.Edits = append(x.Edits, Edit{Op: Set, Name: name, Value: value})
}

// DeleteHeader removes a field from the request on its way to the backend.
func (x *Exchange) DeleteHeader(name string) {
	x.Edits = append(x.Edits, Edit{Op: Delete, Name: name})
}

// Outgoing calls add for every field line that goes to the backend: hop-by-hop
// fields and what Connection names are gone (RFC 9110 section 7.6.1), aliases of
// managed fields too; then edits are made, so that a client cannot take back ours
// by naming them in Connection.
func (x *Exchange) Outgoing(add func(name, value string)) {
	drop := newDropper(x.Header.List("Connection"))
	x.Header.Each(func(name, value string) bool {
		if !drop.drops(name) && !managedAlias(name) && !edited(x.Edits, name) {
			add(name, value)
		}
		return true
	})
	applyEdits(x.Edits, add)
}

// OutgoingResponse calls add for every field line of a response head that goes to
// the client, by the same rules.
func (x *Exchange) OutgoingResponse(h Header, add func(name, value string)) {
	drop := newDropper(h.List("Connection"))
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
		if strings.EqualFold(edits[i].Name, name) {
			return true
		}
	}
	return false
}

// applyEdits adds what the edits leave: a later Set or Delete of a field wins over
// what came before it.
func applyEdits(edits []Edit, add func(name, value string)) {
	for i := range edits {
		if edits[i].Op == Set && !edited(edits[i+1:], edits[i].Name) {
			add(edits[i].Name, edits[i].Value)
		}
	}
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

// managed lists the fields that routers and their authentication set. A spelling of
// one with underscores reaches CGI-like backends as the same variable.
func managed(lower string) bool {
	switch lower {
	case "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-prefix",
		"x-forwarded-server", "x-forwarded-user", "x-real-ip", "forwarded", "remote-user":
		return true
	}
	return false
}

// managedAlias reports whether name is a managed field spelt with underscores, or
// Proxy, which CGI-like backends take for the variable HTTP_PROXY.
func managedAlias(name string) bool {
	if len(name) == 5 && strings.EqualFold(name, "Proxy") {
		return true
	}
	return strings.IndexByte(name, '_') >= 0 && managed(strings.ReplaceAll(strings.ToLower(name), "_", "-"))
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

// IsToken reports whether s is a token (RFC 9110 section 5.6.2), as field names and
// methods are.
func IsToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 || c < 64 && tokenLow>>c&1 == 0 || c >= 64 && tokenHigh>>(c-64)&1 == 0 {
			return false
		}
	}
	return s != ""
}

// The token characters, by word of 64.
const (
	tokenLow  uint64 = (1<<10-1)<<'0' | 1<<'!' | 1<<'#' | 1<<'$' | 1<<'%' | 1<<'&' | 1<<'\'' | 1<<'*' | 1<<'+' | 1<<'-' | 1<<'.'
	tokenHigh uint64 = (1<<26-1)<<('A'-64) | (1<<26-1)<<('a'-64) | 1<<('^'-64) | 1<<('_'-64) | 1<<('`'-64) | 1<<('|'-64) | 1<<('~'-64)
)
