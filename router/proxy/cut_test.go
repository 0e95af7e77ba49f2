package proxy

import (
	"bufio"
	"io"
	"net/http"
	"testing"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// halfAnswered is a backend that never ends an answer; of /head it sends the beginning.
func halfAnswered(t *testing.T, r *rig) (entry *router.Entry, arrived chan struct{}) {
	t.Helper()
	arrived = make(chan struct{}, 10)
	ended := make(chan struct{})
	address := serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/head" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "hello")
			_ = http.NewResponseController(w).Flush()
		}
		arrived <- struct{}{}
		select {
		case <-req.Context().Done():
		case <-ended:
		}
	})
	t.Cleanup(func() { close(ended) })
	return r.route("app.test", []string{address}), arrived
}

// TestReasonsOfCuts: whoever reads the access log learns why a response broke off, and
// is not sent after a client or a backend that did nothing.
func TestReasonsOfCuts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    func(r *rig, entry *router.Entry)
		reason route.Reason
		blamed bool
	}{
		{"drain is over", func(_ *rig, entry *router.Entry) {
			placement(entry, 0).Upstream.Retire(route.Drain{Timeout: int64(10 * time.Millisecond)})
		}, route.ReasonBackendClosed, false},
		{"router stops", func(r *rig, _ *router.Entry) { r.stop() }, route.ReasonBackendClosed, false},
		{"body idles", nil, route.ReasonBackendTimeout, true},
	} {
		r, lines := logged(t)
		r.proxy.cfg.Timeouts.ShutdownTimeout = 200 * time.Millisecond
		if tt.end == nil {
			r.proxy.cfg.Timeouts.BodyIdle = 200 * time.Millisecond
		}
		entry, _ := halfAnswered(t, r)
		judge := &testJudge{}
		judged(entry, nil, judge)
		r.start()
		c := r.dial()
		_, _ = io.WriteString(c, "GET /head HTTP/1.1\r\nHost: app.test\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if tt.end != nil {
			tt.end(r, entry)
		}
		if body, err := io.ReadAll(res.Body); err == nil || string(body) != "hello" {
			t.Errorf("%s: %q %v", tt.name, body, err)
		}
		wantLine(t, lines.find(t, "path", "/head"), map[string]any{"status": 200.0, "reason": string(tt.reason), "bytes_out": 5.0})
		_, _, told := judge.seen()
		if blamed := len(told) > 1 || len(r.outcomes.all()) > 1; blamed != tt.blamed {
			t.Errorf("%s: %+v %+v", tt.name, told, r.outcomes.all())
		}
		for of, n := range map[string]uint64{"entrypoint": entry.Cell.Traffic.Counts().Cut, "backend": placement(entry, 0).Load.Traffic.Counts().Cut} {
			if n != 1 {
				t.Errorf("%s: %d responses of the %s count as cut", tt.name, n, of)
			}
		}
	}
}

// TestARequestThatTheStopEnds is answered where that can be, and not said to have left.
func TestARequestThatTheStopEnds(t *testing.T) {
	for path, rest := range map[string]string{
		"/waits": "\r\n",
		"/sends": "Content-Length: 9\r\n\r\nhalf", // net/http waits for the rest before it gives up
	} {
		r, lines := logged(t)
		r.proxy.cfg.Timeouts.ShutdownTimeout = time.Second
		entry, arrived := halfAnswered(t, r)
		judge := &testJudge{}
		judged(entry, nil, judge)
		r.start()
		c := r.dial()
		_, _ = io.WriteString(c, "PUT "+path+" HTTP/1.1\r\nHost: app.test\r\n"+rest)
		<-arrived
		r.stop()
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if path == "/waits" {
			if err != nil {
				t.Fatal(err)
			}
			wantReason(t, res, 502, route.ReasonBackendClosed)
		}
		wantLine(t, lines.find(t, "path", path), map[string]any{"status": 502.0, "reason": "backend_closed"})
		_, _, told := judge.seen()
		for _, o := range append(told, r.outcomes.all()...) {
			if !o.Void {
				t.Errorf("%s: the backend is blamed: %+v", path, o)
			}
		}
	}
}
