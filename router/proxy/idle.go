package proxy

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fairlead/router/exchange"
)

// checkedIdle is how long a connection may be idle before it is looked at before its
// reuse, and the shortest age at which a close counts as an idle timeout.
const checkedIdle = 50 * time.Millisecond

// idleLimit is how long a connection to one backend is reused after its last answer:
// the setting, lowered by what the backend says and by what it was seen to do. Reuse
// beyond it would race the backend's own timeout (field reports: 502 on every fifth
// POST to a server whose timeout equals the client's pause).
type idleLimit struct {
	most atomic.Int64 // nanoseconds: the setting, or what the backend says
	seen atomic.Int64 // nanoseconds: below the age at which it was seen closing; 0 for never
}

func (l *idleLimit) get() time.Duration {
	if seen := l.seen.Load(); seen > 0 {
		return time.Duration(min(seen, l.most.Load()))
	}
	return time.Duration(l.most.Load())
}

// sawClose learns from a connection that the backend ended when it had been idle for
// age. Shorter ones are no idle timeout: the backend stops, or has enough of it.
func (l *idleLimit) sawClose(age time.Duration) {
	if age < checkedIdle {
		return
	}
	for to := int64(age * 8 / 10); ; {
		now := l.seen.Load()
		if now != 0 && to >= now || l.seen.CompareAndSwap(now, to) {
			return
		}
	}
}

// sawAlive forgets what was seen when a connection outlives it by far: the backend had
// closed that one for another reason.
func (l *idleLimit) sawAlive(age time.Duration) {
	if seen := l.seen.Load(); seen != 0 && int64(age) > seen*3/2 {
		l.seen.CompareAndSwap(seen, 0)
	}
}

// sawHeader learns from a Keep-Alive field such as "timeout=5, max=100" (RFC 2068
// section 19.7.1.1; there is no newer text): one second less than it says.
func (l *idleLimit) sawHeader(h exchange.Header) {
	field := h.Get("Keep-Alive")
	if field == "" {
		return
	}
	for part := range strings.SplitSeq(field, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "timeout") {
			continue
		}
		if n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31); err == nil {
			l.lower(max(time.Duration(n)*time.Second-time.Second, 0))
		}
	}
}

func (l *idleLimit) lower(to time.Duration) {
	for {
		now := l.most.Load()
		if int64(to) >= now || l.most.CompareAndSwap(now, int64(to)) {
			return
		}
	}
}

// took notes that a call uses the connection from now on.
func (c *conn) took(by *call) {
	c.start.Store(c.written.Load())
	c.head.expect()
	c.user.Store(by)
}

// gave notes that the call is over. When another one has taken the connection
// already nothing changes.
func (c *conn) gave(by *call) {
	if c.user.Load() == by {
		c.idleAt.Store(int64(time.Since(c.opened)))
		c.user.CompareAndSwap(by, nil)
	}
}

// asked notes that a request goes out on a connection of HTTP/2.
func (c *conn) asked() { c.unheard.CompareAndSwap(0, int64(max(time.Since(c.opened), 1))) }

// quiet is how long nothing has come since a request went out; 0 when something came.
func (c *conn) quiet() time.Duration {
	asked := c.unheard.Load()
	if asked == 0 {
		return 0
	}
	return max(time.Since(c.opened)-time.Duration(asked), 1)
}

// heard learns from what arrives on an idle connection: an end, or surplus bytes such
// as a TLS alert that announces one.
func (c *conn) heard(n int, err error) {
	at := c.idleAt.Load()
	if at == 0 || n == 0 && err == nil || c.user.Load() != nil {
		return
	}
	c.up.idle.sawClose(time.Since(c.opened) - time.Duration(at))
}

// unusable reports whether a pooled connection must not be used again: it was idle
// beyond the backend's limit, or its other end has said something meanwhile. That is
// looked at once it was idle for a while, and always for a request that cannot be sent
// again when it meets an end.
func (c *conn) unusable(idle time.Duration, once bool) bool {
	if idle <= checkedIdle {
		return idle > c.up.idle.get() || once && readable(c.Conn)
	}
	if readable(c.Conn) {
		return true
	}
	tooLong := idle > c.up.idle.get()
	c.up.idle.sawAlive(idle)
	return tooLong
}
