package proxy

import (
	"net/http"
	"strings"
)

// header is a net/http header as the data plane reads it.
type header http.Header

// Get implements exchange.Header.
func (h header) Get(name string) string { return http.Header(h).Get(name) }

// List implements exchange.Header.
func (h header) List(name string) string {
	switch values := http.Header(h).Values(name); len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	default:
		return strings.Join(values, ", ")
	}
}

// Has implements exchange.Header.
func (h header) Has(name, value string, bare bool) bool {
	values := http.Header(h).Values(name)
	for _, v := range values {
		if bare || v == value {
			return true
		}
	}
	return false
}

// Each implements exchange.Header. A trailer that was only announced has no value yet.
func (h header) Each(yield func(name, value string) bool) {
	for name, values := range h {
		for _, v := range values {
			if !yield(name, v) {
				return
			}
		}
	}
}

// trailer reads a request's trailer: the announced names until the end of the body,
// then what came.
type trailer struct{ r *http.Request }

// Get implements exchange.Header.
func (t trailer) Get(name string) string { return t.r.Trailer.Get(name) }

// List implements exchange.Header.
func (t trailer) List(name string) string { return header(t.r.Trailer).List(name) }

// Has implements exchange.Header.
func (t trailer) Has(name, value string, bare bool) bool {
	return header(t.r.Trailer).Has(name, value, bare)
}

// Each implements exchange.Header.
func (t trailer) Each(yield func(name, value string) bool) {
	for name, values := range t.r.Trailer {
		if len(values) == 0 && !yield(name, "") {
			return
		}
		for _, v := range values {
			if !yield(name, v) {
				return
			}
		}
	}
}

// restore gives a head its Connection fields back.
func (c *conn) restore(h http.Header) {
	if c == nil {
		return
	}
	if lists := c.head.lists(); len(lists) > 0 {
		h["Connection"] = lists
	}
}

// restoreLast does it for a final head. A connection whose head does not say "close" may
// serve another request already.
func (c *conn) restoreLast(res *http.Response) {
	if res.Close {
		c.restore(res.Header)
	}
}
