package proxy

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync/atomic"
)

// errNotProcessed ends a request that net/http would send again over HTTP/2.
var errNotProcessed = errors.New("the backend refused the request")

// once keeps net/http from sending a request without a body over HTTP/2 more than once.
// What a backend says that it did not process goes out again, but how often is for the
// rules of retries to say: net/http would go on for as long as the call lasts.
type once struct {
	stop  context.CancelCauseFunc
	wrote atomic.Bool // its head went out
}

// idleTries bounds the connections that are taken for a request whose head did not go out.
const idleTries = 4

// limit makes the context of the request.
func (o *once) limit(ctx context.Context, trace *httptrace.ClientTrace) context.Context {
	ctx, o.stop = context.WithCancelCause(ctx)
	trace.WroteHeaders = func() { o.wrote.Store(true) }
	return ctx
}

// again reports whether the request was sent before; then it is not sent now.
func (o *once) again(tries int) bool {
	if !o.wrote.Load() && tries <= idleTries {
		return false
	}
	o.stop(errNotProcessed)
	return true
}
