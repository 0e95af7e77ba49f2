package proxy

import (
	"sync"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// early is the reading of a request body while its request waits. Its fields are guarded
// by the body's lock.
type early struct {
	reading bool          // it has not ended yet
	moved   sync.Cond     // told after each piece and at the end
	failed  chan struct{} // closed when the client's side failed
	names   []string      // the announced trailer fields, as they were before it began
}

// runs reports whether somebody reads ahead now. It is usable without anybody.
func (e *early) runs() bool { return e != nil && e.reading }

// ahead begins to read a short body of an HTTP/1 request that waits. Only after the end of
// its body does net/http watch the connection, so that a client that leaves gives its
// place back; and a request that nobody waits for any more is not sent. The backend may be
// faster than the client: then the attempt takes the pieces as they come. It does nothing
// for a body that is long, cannot be kept, or is sent only when it is asked for. The
// channel is closed when the client's side fails; it may be nil.
func (b *body) ahead(x *exchange.Exchange) <-chan struct{} {
	if b == nil || x.Major != 1 || b.length == 0 || b.length > maxReplay || x.Header.Get("Expect") != "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.early == nil {
		b.early = &early{failed: make(chan struct{}), names: announced(x.Trailer)}
		b.early.moved.L = &b.mu
	}
	b.turn++ // an attempt that failed reads no more
	if !b.reading && !b.early.reading && b.keeping && int64(len(b.kept)) == b.read && b.lacks() {
		b.early.reading = true
		x.Response.Duplex() // an answer of ours does not wait for the rest
		go b.readAhead()
	}
	return b.early.failed
}

// lacks reports whether there is more to read ahead.
func (b *body) lacks() bool { return !b.ended && b.err == nil && b.read < b.most() }

// most is how much may be read ahead; more could not be kept.
func (b *body) most() int64 {
	if b.length < 0 {
		return maxReplay
	}
	return b.length
}

// readAhead reads what can be kept.
func (b *body) readAhead() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for piece := make([]byte, min(b.most(), 4<<10)); b.lacks(); {
		_, _ = b.pull(piece[:min(b.most()-b.read, int64(len(piece)))], true)
		b.early.moved.Broadcast()
	}
	b.early.reading = false
	b.early.moved.Broadcast()
	if b.err != nil {
		close(b.early.failed)
	}
}

// gone is why a request that waits is given up when its client's context ended: a body
// that failed ends it, too, and says more.
func (b *body) gone() route.Reason {
	if b == nil {
		return route.ReasonClientGone
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && b.early.runs() {
		b.early.moved.Wait()
	}
	if b.err != nil {
		return clientReason(b.err)
	}
	return route.ReasonClientGone
}

// spoilt is the answer to a client whose body failed while its request waited, or none.
func (b *body) spoilt() route.Reason {
	if err := b.failure(); err != nil {
		return clientReason(err)
	}
	return route.ReasonNone
}

// trailerNames are the trailer fields that the client announced; from has them while
// nobody reads.
func (b *body) trailerNames(from exchange.Header) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.early != nil {
		return b.early.names
	}
	return announced(from)
}

func announced(trailer exchange.Header) (names []string) {
	if trailer != nil {
		trailer.Each(func(name, _ string) bool {
			names = append(names, name)
			return true
		})
	}
	return names
}
