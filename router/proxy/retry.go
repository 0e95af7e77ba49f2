package proxy

import (
	"time"

	"fairlead/router/route"
)

// maxExcused bounds the trials that may fail without counting.
const maxExcused = 3

// again decides what follows a contact that failed: ReasonNone is another one, any
// other reason the answer to the client. What was never sent goes out again, and what
// a backend that stops did not accept any more.
func (f *delivery) again(fail *failure, held *stay) route.Reason {
	leaving := fail.kind == route.KindLeaving
	if fail.ours && !leaving || f.x.Context.Err() != nil {
		return fail.reason
	}
	f.tried = append(f.tried, f.target)
	f.last = fail.reason
	if !fail.unsent {
		return f.sent(fail, held)
	}
	switch {
	case leaving && f.retired(), f.left(): // it was picked as it left: not a failure
		return route.ReasonNone
	case fail.kind == route.KindConnectionRefused && !f.target.Load.Proven.Load():
		return f.notServed(held)
	case fail.trial && f.others() && f.excuse():
		return route.ReasonNone
	}
	rule := &f.r.Entrypoint.Options.Retry
	f.tries++
	more := (rule.On&route.RetryConnect != 0 || rule.On&route.RetryTimeout != 0 && fail.kind == route.KindTimeout) && f.more()
	if more && f.others() && f.retry() {
		return route.ReasonNone
	}
	if rule.TryDuration == 0 && mayLeave(fail.kind) && f.leaves(held) {
		return route.ReasonNone
	}
	if more && f.retry() && f.pause(held) {
		return route.ReasonNone
	}
	return fail.reason
}

// notServed follows the refusal of a backend that never served: it is waited for, as long
// as holdFor says or, where that is over, as long as tryDuration.
func (f *delivery) notServed(held *stay) route.Reason {
	reason := f.notYet(held)
	if reason == route.ReasonNone || f.r.Entrypoint.Options.Retry.TryDuration == 0 {
		return reason
	}
	f.tries++
	if f.more() && f.retry() && f.pause(held) {
		return route.ReasonNone
	}
	return reason
}

// sent follows a failure after the backend may have got the request. The rule of the
// entrypoint may allow another try. A connection that ended before the answer began is
// special: a listener that closes resets the connections that it has not accepted yet.
// If the backend turns out to leave, the request goes to another one; that is no try,
// but happens once, so that a request which ends its backend does not end them all.
func (f *delivery) sent(fail *failure, held *stay) route.Reason {
	rule := &f.r.Entrypoint.Options.Retry
	ruled := fail.whole && rule.Allows(f.x.Verb) &&
		(rule.On.Status(fail.reason.Info().Status) || rule.On&route.RetryTimeout != 0 && fail.reason == route.ReasonBackendTimeout)
	if ruled && fail.trial && f.others() && f.excuse() {
		return route.ReasonNone
	}
	f.tries++
	more := ruled && f.more()
	if more && f.others() && f.retry() {
		return route.ReasonNone
	}
	if fail.unanswered && !f.replayed && f.leaves(held) {
		f.replayed = true
		return route.ReasonNone
	}
	if more && f.retry() && f.pause(held) {
		return route.ReasonNone
	}
	return fail.reason
}

// lets reports whether a response is let go for another try, which has begun then: a
// response is never given up for nothing.
func (f *delivery) lets(res *response, trial bool, held *stay) bool {
	rule := &f.r.Entrypoint.Options.Retry
	if !rule.On.Status(res.status) || !rule.Allows(f.x.Verb) || !f.body.replayable() || f.x.Context.Err() != nil {
		return false
	}
	f.tried = append(f.tried, f.target)
	if !trial || !f.others() || !f.excuse() {
		f.tries++
		if !f.more() || !f.retry() {
			return false
		}
	}
	if f.untried = f.others(); !f.untried && !f.pause(held) {
		return false
	}
	defer func() { f.untried = false }()
	return f.r.Cell.Line.Waiting() == 0 && f.take() == route.ReasonNone
}

// resends reports whether a request may be sent again after a backend got it, so that
// its body is to be kept.
func resends(rule *route.Retry, method string) bool {
	return rule.On&^route.RetryConnect != 0 && rule.Allows(method)
}

// more reports whether there is another try: within tryDuration where it is set, else
// while retry.attempts are not used up.
func (f *delivery) more() bool {
	options := &f.r.Entrypoint.Options
	if limit := options.Retry.TryDuration; limit > 0 {
		return time.Since(f.first) < limit
	}
	return f.tries < options.RetryAttempts
}

// retry takes a share of the entrypoint's budget, which keeps a dead rotation from
// multiplying its load. It has it until done.
func (f *delivery) retry() bool {
	if f.retrying {
		return true
	}
	cell := f.r.Cell
	for {
		n := cell.Retrying.Load()
		if n >= max(3, cell.InFlight.Load()/5) {
			return false
		}
		if cell.Retrying.CompareAndSwap(n, n+1) {
			f.retrying = true
			return true
		}
	}
}

// excuse makes a trial that failed count for nothing: the client must not pay for our
// experiment.
func (f *delivery) excuse() bool {
	f.excused++
	return f.excused <= maxExcused
}

// pause waits tryInterval, or for another rotation, before backends are tried that were
// tried already. It is false when there is no time for that.
func (f *delivery) pause(held *stay) bool {
	rule := &f.r.Entrypoint.Options.Retry
	now := time.Now()
	wait := rule.TryInterval - now.Sub(f.ended)
	if rule.TryDuration > 0 && now.Add(wait).Sub(f.first) >= rule.TryDuration {
		return false
	}
	f.tried = f.tried[:0]
	changed := f.r.Cell.Changed()
	if wait <= 0 || f.r.Cell.Load() != f.rot {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	defer func() { f.x.Held += time.Since(now) }()
	select {
	case <-changed:
	case <-timer.C:
	case <-held.ended:
		return false
	case <-f.x.Context.Done():
		return false
	}
	return true
}

// leaves waits a moment for the news that the backend that was contacted leaves.
func (f *delivery) leaves(held *stay) bool {
	for end := time.Now().Add(newsWait); !f.left(); {
		if !held.forNews(f.x, f.r.Cell, f.r.Cell.Load(), time.Until(end)) {
			return f.left()
		}
	}
	return true
}

// left reports whether the backend that was contacted has left the rotation since.
func (f *delivery) left() bool {
	if f.ejected {
		return f.retired()
	}
	now, key := f.r.Cell.Load(), f.target.Key()
	return now != f.rot && !has(now.Members, key) && !has(now.Fallback, key) && !has(now.Sticky, key)
}

// retired reports whether the backend that was contacted takes no requests any more.
func (f *delivery) retired() bool {
	up, isOurs := f.target.Upstream.(*upstream)
	return isOurs && up.left()
}

// mayLeave reports whether a failed dial, or a request refused over HTTP/2, can be the
// first sign of a stop.
func mayLeave(k route.Kind) bool {
	switch k {
	case route.KindConnectionRefused, route.KindConnectionReset, route.KindTLSFailure, route.KindNoRouteToHost, route.KindHostUnreachable,
		route.KindLeaving:
		return true
	default:
		return false
	}
}

// notYet follows the refusal of a backend that never served: another one is asked at
// once, the same one again after a while.
func (f *delivery) notYet(held *stay) route.Reason {
	if f.others() {
		return route.ReasonNone
	}
	f.tried = f.tried[:0]
	return held.forListener(f.x, f.r, f.rot, &f.target.Backend)
}

// others reports whether the rotation has a member that was not tried.
func (f *delivery) others() bool {
	for _, set := range [...][]route.Member{f.rot.Members, f.rot.Fallback} {
		for i := range set {
			if !f.wasTried(set[i].Placement) {
				return true
			}
		}
	}
	return false
}
