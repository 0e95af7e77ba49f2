package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// TestAHeldUploadGoesOnAsSoonAsABackendIsBack, however slowly its client sends: nobody
// waits for a piece that the client has not sent yet.
func TestAHeldUploadGoesOnAsSoonAsABackendIsBack(t *testing.T) {
	for name, parts := range map[string][3]string{
		"chunked": {"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n", "3\r\nabc\r\n", "3\r\ndef\r\n0\r\nX-Sum: 7\r\n\r\n"},
		"length":  {"Content-Length: 6\r\n\r\n", "abc", "def"},
		"no byte": {"Content-Length: 6\r\n\r\n", "", "abcdef"},
	} {
		began, whole := make(chan string, 1), make(chan string, 1)
		r := newRig(t)
		entry := r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) {
			_, announced := req.Trailer["X-Sum"]
			first := make([]byte, 3)
			if parts[1] != "" {
				_, _ = io.ReadFull(req.Body, first)
			}
			began <- string(first)
			rest, err := io.ReadAll(req.Body)
			whole <- fmt.Sprint(string(rest), err, announced, req.Trailer.Get("X-Sum"))
		})})
		r.start()
		rot := entry.Cell.Load()
		entry.Cell.Store(&route.Rotation{Reason: route.ReasonLeaving})
		c := r.dial()
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\n"+parts[0]+parts[1])
		eventually(t, "it is held", func() bool { return entry.Cell.Held.Load() == 1 })
		entry.Cell.Store(rot)
		if parts[1] != "" {
			if first := <-began; first != "abc" {
				t.Errorf("%s: %q reached the backend", name, first)
			}
		}
		eventually(t, "it is with the backend", func() bool { return placement(entry, 0).Load.InFlight.Load() == 1 })
		_, _ = io.WriteString(c, parts[2])
		want := "def<nil> false"
		switch name {
		case "chunked":
			want = "def<nil> true7"
		case "no byte":
			want = "abcdef<nil> false"
		}
		if got := <-whole; got != want {
			t.Errorf("%s: then %q, want %q", name, got, want)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusOK || res.Close {
			t.Errorf("%s: %+v %v", name, res, err)
		}
	}
}

// TestADrippingUploadHasNoMoreTimeThanOthers: it is answered when holdFor, or its time
// in line, is over, and its place is free again.
func TestADrippingUploadHasNoMoreTimeThanOthers(t *testing.T) {
	for _, inLine := range []bool{false, true} {
		g := newGate()
		r := newRig(t)
		entry := r.route("app.test", []string{serveHTTP(t, g.serve)}, func(e *route.Entrypoint) {
			e.Options.HoldFor = 300 * time.Millisecond
			e.Backends[0].MaxConnections = 1
			e.Options.Queue = route.Queue{Size: 2, Timeout: 300 * time.Millisecond}
		})
		r.start()
		reason := route.ReasonLeaving
		if inLine {
			reason = route.ReasonOverloaded
			r.inBackground("GET", "app.test", "/")
			<-g.began
		} else {
			entry.Cell.Store(&route.Rotation{Reason: reason})
		}
		for _, framing := range []string{"Transfer-Encoding: chunked", "Content-Length: 60000"} {
			c := r.dial()
			began := time.Now()
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\n"+framing+"\r\n\r\n")
			ctx, stop := context.WithCancel(t.Context())
			go func() {
				for ctx.Err() == nil {
					_, _ = io.WriteString(c, "1\r\nx\r\n")
					<-time.After(5 * time.Millisecond)
				}
			}()
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			took := time.Since(began)
			stop()
			if err != nil {
				t.Fatal(framing, err)
			}
			wantReason(t, res, 503, reason)
			if took > 1800*time.Millisecond { // unwantedBody is another two seconds
				t.Errorf("%s: answered after %v", framing, took)
			}
			eventually(t, "the place is free", func() bool { return entry.Cell.Held.Load() == 0 && entry.Cell.Line.Waiting() == 0 })
		}
		close(g.finish)
	}
}

// TestAHeldUploadThatFails is answered at once, as its client's fault.
func TestAHeldUploadThatFails(t *testing.T) {
	for rest, reason := range map[string]route.Reason{"zz\r\n": route.ReasonBadRequest, "": route.ReasonClientTimeout} {
		r, lines := logged(t)
		r.proxy.cfg.Timeouts.BodyIdle = 200 * time.Millisecond
		entry := r.route("app.test", []string{"127.0.0.1:1"}, limited(1, 2, time.Minute))
		r.start()
		place := placement(entry, 0)
		place.Load.InFlight.Store(1)
		rot := entry.Cell.Load()
		for _, path := range []string{"/line", "/held"} {
			if path == "/held" {
				entry.Cell.Store(&route.Rotation{Reason: route.ReasonLeaving})
			}
			c := r.dial()
			_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"+rest)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(path, err)
			}
			wantReason(t, res, reason.Info().Status, reason)
			wantLine(t, lines.find(t, "path", path), map[string]any{"reason": string(reason), "attempts": 0.0})
		}
		entry.Cell.Store(rot)
		place.Load.InFlight.Store(0)
	}
}

// lateFailure is a body whose end cancels the context of its request before the error
// is there, as net/http does it.
type lateFailure struct{ cancel context.CancelFunc }

func (l lateFailure) Read([]byte) (int, error) {
	<-time.After(50 * time.Millisecond)
	l.cancel()
	<-time.After(50 * time.Millisecond)
	return 0, os.ErrDeadlineExceeded
}

// TestABodyThatFailsIsNoClientThatLeft, though both end the request's context.
func TestABodyThatFailsIsNoClientThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		entry := r.route("app.test", nil)
		entry.Cell.Store(emptied(route.ReasonLeaving, 0))
		x := exchangeFor(t, "app.test", "/")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		x.Context, x.Body, x.Length, x.Response = ctx, lateFailure{cancel}, 5, &quiet{}
		var held stay
		_, reason := r.proxy.match(x, &held)
		held.leave()
		if reason != route.ReasonClientTimeout || !errors.Is(held.body.failure(), os.ErrDeadlineExceeded) {
			t.Errorf("%q, %v", reason, held.body.failure())
		}
	})
}

// TestABodyThatIsReadAheadCanBeSentAgain while its rest is still to come.
func TestABodyThatIsReadAheadCanBeSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := exchangeFor(t, "app.test", "/")
		client, sends := io.Pipe()
		x.Body, x.Length, x.Response = client, 6, &quiet{}
		b := newBody(x)
		b.ahead(x)
		_, _ = io.WriteString(sends, "abc")
		synctest.Wait()
		first, whole := b.take()
		p := make([]byte, 10)
		if n, err := b.next(first, 0, p, false); !whole || string(p[:n]) != "abc" || err != nil {
			t.Errorf("%q %v, whole %v", p[:n], err, whole)
		}
		b.ahead(x) // it waits once more
		if _, err := b.next(first, 0, p, false); !errors.Is(err, errTaken) {
			t.Errorf("who reads for an attempt that is over: %v", err)
		}
		second, whole := b.take()
		if _, err := b.next(first, 3, p, false); !whole || !errors.Is(err, errTaken) {
			t.Errorf("whole %v; who lost its turn: %v", whole, err)
		}
		var got []byte
		for _, piece := range []string{"", "d", "ef"} { // each is read before the next one is sent
			if piece != "" {
				go func() { _, _ = io.WriteString(sends, piece) }()
			}
			n, err := b.next(second, int64(len(got)), p, false)
			if got = append(got, p[:n]...); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.next(second, 6, p, false); string(got) != "abcdef" || !errors.Is(err, io.EOF) || !b.replayable() {
			t.Errorf("%q, then %v; replayable %v", got, err, b.replayable())
		}
	})
}
