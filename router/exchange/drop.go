package exchange

import (
	"slices"
	"strings"
)

// dropper knows the hop-by-hop fields of one message: the fixed ones, and what its
// Connection field names (RFC 9110 section 7.6.1).
type dropper struct {
	few  [4]string // named, as sent
	n    int
	many map[string]struct{} // the further ones in lower case; nil when few has room
}

// newDropper parses the Connection field's list once: whoever sends it chooses how
// long it is, and it is asked for every field.
func newDropper(connection string) dropper {
	var d dropper
	for item := range strings.SplitSeq(connection, ",") {
		item = strings.Trim(item, " \t")
		switch {
		case item == "":
		case d.n < len(d.few):
			d.few[d.n] = item
			d.n++
		default:
			if d.many == nil {
				d.many = map[string]struct{}{}
			}
			d.many[strings.ToLower(item)] = struct{}{}
		}
	}
	return d
}

func (d *dropper) drops(name string) bool {
	if hopByHop(name) {
		return true
	}
	for i := range d.n {
		if strings.EqualFold(d.few[i], name) {
			return true
		}
	}
	if d.many == nil {
		return false
	}
	_, named := d.many[strings.ToLower(name)]
	return named
}

// RequestTrailer returns the rule for the request's trailer fields: whether a line
// goes to the backend. Neither what routers and filters set nor what frames, routes
// or authenticates a message comes in a trailer (RFC 9110 section 6.5.1). The rule
// needs the exchange only now, not when it is used.
func (x *Exchange) RequestTrailer() func(name, value string) bool {
	drop := newDropper(x.Header.List("Connection"))
	set := editedNames(x.Edits)
	return func(name, value string) bool {
		return trailerField(name, value) && !drop.drops(name) && !set(name)
	}
}

// ResponseTrailer is RequestTrailer for a response with header h and its client.
func (x *Exchange) ResponseTrailer(h Header) func(name, value string) bool {
	drop := newDropper(h.List("Connection"))
	set := editedNames(x.ResponseEdits)
	return func(name, value string) bool {
		return trailerField(name, value) && !drop.drops(name) && !set(name)
	}
}

// Interim returns what of an interim response's header goes to the client, by the
// rules of the final one; edits remove fields but add none.
func (x *Exchange) Interim(h Header) Header {
	drop := newDropper(h.List("Connection"))
	return Only{h, func(name, _ string) bool {
		return IsToken(name) && !drop.drops(name) && !strings.EqualFold(name, "Content-Length") && !edited(x.ResponseEdits, name)
	}}
}

// editedNames is edited for a time when the exchange is gone.
func editedNames(edits []Edit) func(name string) bool {
	names := make([]string, 0, len(edits))
	for i := range edits {
		names = append(names, edits[i].Name)
	}
	return func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
}

// trailerField reports whether a line may be a trailer field at all.
func trailerField(name, value string) bool {
	lower := strings.ToLower(name)
	return IsToken(name) && !controls(value) && !headOnly(lower) && !managed(strings.ReplaceAll(lower, "_", "-")) && lower != "proxy"
}

// controls reports whether a value holds what no field value may (RFC 9110 section 5.5).
func controls(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// headOnly lists fields that frame, route, authenticate or control a message, or say
// how to read its content: they mean nothing good after it (RFC 9110 section 6.5.1).
func headOnly(lower string) bool {
	switch lower {
	case "host", "content-length", "content-encoding", "content-type", "content-range", "content-location",
		"authorization", "www-authenticate", "authentication-info", "proxy-authentication-info", "cookie", "set-cookie",
		"age", "cache-control", "date", "expires", "location", "retry-after", "vary", "warning", "pragma",
		"expect", "max-forwards", "range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
		"strict-transport-security", "content-security-policy", "origin", "proxy-status":
		return true
	}
	return strings.HasPrefix(lower, "access-control-")
}

// Only is a header less the lines for which Keep is false.
type Only struct {
	All  Header
	Keep func(name, value string) bool
}

// Get implements Header.
func (o Only) Get(name string) string {
	first, _, _ := strings.Cut(o.list(name, "\x00"), "\x00")
	return first
}

// List implements Header.
func (o Only) List(name string) string { return o.list(name, ", ") }

func (o Only) list(name, separator string) string {
	var values []string
	o.Each(func(n, v string) bool {
		if strings.EqualFold(n, name) {
			values = append(values, v)
		}
		return true
	})
	return strings.Join(values, separator)
}

// Has implements Header.
func (o Only) Has(name, value string, bare bool) bool {
	found := false
	o.Each(func(n, v string) bool {
		found = strings.EqualFold(n, name) && (bare || v == value)
		return !found
	})
	return found
}

// Each implements Header.
func (o Only) Each(yield func(name, value string) bool) {
	o.All.Each(func(name, value string) bool { return !o.Keep(name, value) || yield(name, value) })
}
