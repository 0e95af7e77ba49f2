package proxy

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// newUpstream opens an upstream that is never dialled.
func newUpstream(t *testing.T, cfg Config) *upstream {
	t.Helper()
	up, err := New(cfg).Open(route.Backend{ID: "b0", Host: "127.0.0.1", Port: 1, Scheme: route.SchemeHTTP})
	if err != nil {
		t.Fatal(err)
	}
	return up.(*upstream)
}

// TestWatchOfACall: what ends a call when nothing moves, to the instant.
func TestWatchOfACall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		head  time.Duration
		steps func(c *call, sleep func(time.Duration))
		after time.Duration // from the begin to the end; 0: within an hour nothing ends it
		cause error
	}{
		{"no connection", 30 * time.Second, func(*call, func(time.Duration)) {}, 0, nil},
		{"no head", 30 * time.Second, func(c *call, sleep func(time.Duration)) {
			sleep(29 * time.Second)
			c.sending()
		}, 59 * time.Second, errBackendTimeout},
		{"a second connection", 30 * time.Second, func(c *call, sleep func(time.Duration)) {
			c.sending()
			sleep(29 * time.Second)
			c.dialling()
			sleep(29 * time.Second)
			c.sending()
		}, 88 * time.Second, errBackendTimeout},
		{"no limit", 0, func(c *call, _ func(time.Duration)) { c.sending() }, 0, nil},
		{"a slow upload moves", 30 * time.Second, func(c *call, sleep func(time.Duration)) {
			c.sending()
			for range 10 {
				sleep(29 * time.Second)
				c.progress()
			}
		}, 320 * time.Second, errBackendTimeout},
		{"a slow body moves", 30 * time.Second, func(c *call, sleep func(time.Duration)) {
			c.sending()
			sleep(29 * time.Second)
			c.headReceived()
			for range 10 {
				sleep(59 * time.Second)
				c.progress()
			}
		}, 679 * time.Second, errBodyIdle},
		{"body idle without a limit for the head", 0, func(c *call, _ func(time.Duration)) { c.headReceived() }, time.Minute, errBodyIdle},
		{"a tunnel is not watched", 30 * time.Second, func(c *call, _ func(time.Duration)) {
			c.sending()
			c.headReceived()
			c.unwatched()
			c.progress()
		}, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				c := newUpstream(t, Config{}).begin(exchangeFor(t, "app.test", "/"), tt.head, nil)
				tt.steps(c, func(d time.Duration) { <-time.After(d) })
				select {
				case <-c.ctx.Done():
					if took := time.Since(begin); took != tt.after || !errors.Is(context.Cause(c.ctx), tt.cause) {
						t.Errorf("ended after %v by %v", took, context.Cause(c.ctx))
					}
				case <-time.After(time.Hour):
					if tt.after != 0 {
						t.Error("nothing ended it")
					}
				}
				c.end()
				c.headReceived() // after the end nothing happens
				c.progress()
				c.expire()
				if tt.after == 0 && !errors.Is(context.Cause(c.ctx), context.Canceled) {
					t.Errorf("cause %v", context.Cause(c.ctx))
				}
			})
		})
	}
}

// TestDrainToTheInstant: calls are cut when the drain is over, and not before.
func TestDrainToTheInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, Config{})
		c := u.begin(exchangeFor(t, "app.test", "/"), 0, nil)
		begin := time.Now()
		u.Retire(route.Drain{Timeout: int64(30 * time.Second)})
		if u.begin(exchangeFor(t, "app.test", "/"), 0, nil) != nil {
			t.Error("a retired upstream takes a call")
		}
		<-c.ctx.Done()
		if took := time.Since(begin); took != 30*time.Second || !errors.Is(context.Cause(c.ctx), errRetired) {
			t.Errorf("cut after %v by %v", took, context.Cause(c.ctx))
		}
		c.end()
	})
}

// informed is a writer that counts interim responses.
type informed struct {
	exchange.Writer
	n int
}

func (w *informed) Inform(int, exchange.Header) { w.n++ }

// TestLateInterimResponse: after the end of a call its backend's adapter does not
// touch the exchange, which serves another request by then.
func TestLateInterimResponse(t *testing.T) {
	w := &informed{}
	x := exchangeFor(t, "app.test", "/")
	x.Response = w
	c := newUpstream(t, Config{}).begin(x, 0, nil)
	c.inform(103, x.Header)
	c.end()
	c.inform(103, x.Header)
	if w.n != 1 {
		t.Errorf("%d interim responses", w.n)
	}
}

func bodyOf(method, text string, length int64) *body {
	return newBody(&exchange.Exchange{Verb: method, Body: strings.NewReader(text), Length: length})
}

func readTurn(b *body, n int, reused bool) (string, error) {
	turn, _ := b.take()
	c := &call{}
	c.conn.reused.Store(reused)
	r := &turnReader{body: b, turn: turn, call: c}
	p := make([]byte, n)
	m, err := io.ReadFull(r, p)
	return string(p[:m]), err
}

func TestBodyTurns(t *testing.T) {
	large := strings.Repeat("x", maxReplay+1)
	for _, tt := range []struct {
		name   string
		body   *body
		read   int
		fresh  bool // connection
		whole  bool
		second string
	}{
		{"unread", bodyOf("POST", "hello", 5), 0, false, true, "hello"},
		{"kept", bodyOf("PUT", "hello", 5), 5, false, true, "hello"},
		{"kept whatever the method", bodyOf("POST", "hello", 5), 5, false, true, "hello"},
		{"kept without a length", bodyOf("PUT", "hello", -1), 6, false, true, "hello"},
		{"partly read", bodyOf("PUT", "hello", 5), 3, false, true, "hello"},
		{"on a fresh connection", bodyOf("PUT", "hello", 5), 5, true, false, ""},
		{"too large", bodyOf("PUT", large, int64(len(large))), len(large), false, false, ""},
		{"too large without a length", bodyOf("PUT", large, -1), len(large) + 1, false, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := readTurn(tt.body, tt.read, !tt.fresh); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			turn, whole := tt.body.take()
			if whole != tt.whole {
				t.Fatalf("whole is %v", whole)
			}
			if !whole {
				return
			}
			all, err := io.ReadAll(&turnReader{body: tt.body, turn: turn, call: &call{}})
			if err != nil || string(all) != tt.second {
				t.Errorf("second turn %q, %v", all, err)
			}
		})
	}
}

// TestBodyOfAnotherTurn: who lost the turn reads nothing, even when it was waiting.
func TestBodyOfAnotherTurn(t *testing.T) {
	pr, pw := io.Pipe()
	b := newBody(&exchange.Exchange{Verb: "PUT", Body: pr, Length: 5})
	first, _ := b.take()
	got := make(chan error, 1)
	go func() {
		_, err := (&turnReader{body: b, turn: first, call: &call{}}).Read(make([]byte, 10))
		got <- err
	}()
	eventually(t, "the first turn waits", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.reading
	})
	if _, whole := b.take(); whole {
		t.Error("a body that is being read counts as whole")
	}
	_, _ = pw.Write([]byte("hello"))
	if err := <-got; !errors.Is(err, errTaken) {
		t.Errorf("%v", err)
	}
	if _, err := (&turnReader{body: b, turn: first, call: &call{}}).Read(make([]byte, 10)); !errors.Is(err, errTaken) {
		t.Errorf("%v", err)
	}
	var none *body
	if _, whole := none.take(); !whole || none.failure() != nil {
		t.Error("no body is not whole")
	}
	none.release()
}

// TestIncomingAfterItsExchange: a reader that outlives its exchange gets nothing and
// leaves the connection's deadline alone.
func TestIncomingAfterItsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{}
		b := &incoming{deadline: d, source: strings.NewReader("hello"), length: 5, idle: time.Minute}
		begin := time.Now()
		p := make([]byte, 3)
		if n, err := b.Read(p); n != 3 || err != nil || !d.last.Equal(begin.Add(time.Minute)) {
			t.Errorf("%d %v, deadline %v", n, err, d.last.Sub(begin))
		}
		if !b.unfinished() {
			t.Error("three of five bytes are all")
		}
		b.finish()
		if !d.last.Equal(begin.Add(unwantedBody)) {
			t.Errorf("deadline %v", d.last.Sub(begin))
		}
		set := d.set
		if _, err := b.Read(p); !errors.Is(err, errTaken) {
			t.Errorf("%v", err)
		}
		b.finish()
		if d.set != set {
			t.Error("the deadline of another request was changed")
		}
	})
}

type deadlines struct {
	set  int
	last time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set++
	d.last = at
	return nil
}
