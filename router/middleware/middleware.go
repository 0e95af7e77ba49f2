// Package middleware holds the filters of a route, one file per label family. A
// filter sees only the Exchange.
package middleware

import (
	"fairlead/router/exchange"
	"fairlead/router/route"
)

// Filter changes or refuses a request before a backend is picked. It is prepared
// once per entrypoint and safe for concurrent use.
type Filter interface {
	// Before works on the request. A reason other than ReasonNone ends it there.
	Before(x *exchange.Exchange) route.Reason
}

// Chain are the filters of an entrypoint in their order.
type Chain []Filter

// Before runs the filters until one refuses.
func (c Chain) Before(x *exchange.Exchange) route.Reason {
	for _, f := range c {
		if reason := f.Before(x); reason != route.ReasonNone {
			return reason
		}
	}
	return route.ReasonNone
}

// For prepares the chain of an entrypoint: path rewriting, then header rules.
func For(e *route.Entrypoint) Chain {
	var c Chain
	if f, ok := newRewrite(&e.Options); ok {
		c = append(c, f)
	}
	if f, ok := newHeaders(e.Options.Headers); ok {
		c = append(c, f)
	}
	return c
}
