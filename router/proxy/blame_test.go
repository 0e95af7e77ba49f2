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

// readsAfterHead answers before it reads the request body.
func readsAfterHead(w http.ResponseWriter, req *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex()
	w.WriteHeader(http.StatusOK)
	_ = rc.Flush()
	_, _ = io.Copy(io.Discard, req.Body)
}

// blameless fails when something beside the heads of responses was told of a backend.
func blameless(t *testing.T, r *rig, entry *router.Entry, judge *testJudge) {
	t.Helper()
	_, _, judged := judge.seen()
	for _, o := range append(judged, r.outcomes.all()...) {
		if o.Transport || o.Late {
			t.Errorf("the backend is blamed: %+v", o)
		}
	}
	if cut := placement(entry, 0).Load.Traffic.Counts().Cut; cut != 0 {
		t.Errorf("%d responses count as cut by the backend", cut)
	}
}

// TestClientFaultAfterTheHead: a client that spoils its body once the response has begun
// ends that response. It must not get the backend ejected for it.
func TestClientFaultAfterTheHead(t *testing.T) {
	backends := map[string]string{"/h1": serveHTTP(t, readsAfterHead), "/h2c": "h2c://" + serveH2C(t, readsAfterHead)}
	for path, backend := range backends {
		for rest, reason := range map[string]route.Reason{"zz\r\n": route.ReasonBadRequest, "": route.ReasonClientTimeout} {
			r, lines := logged(t)
			r.proxy.cfg.Timeouts.BodyIdle = 200 * time.Millisecond
			entry := r.route("app.test", []string{backend})
			judge := &testJudge{}
			judged(entry, nil, judge)
			r.start()
			c := r.dial()
			_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, rest)
			if _, err := io.ReadAll(res.Body); err == nil {
				t.Errorf("%s %q: the client takes the response for whole", path, rest)
			}
			wantLine(t, lines.find(t, "path", path), map[string]any{"status": 200.0, "reason": string(reason)})
			blameless(t, r, entry, judge)
		}
	}
}

// TestCallEndsThoughTheClientKeepsItsSideOpen: a gRPC stream on which nothing moves is
// over with bodyIdle, and with the drain of its backend. Nobody is to blame for the first.
func TestCallEndsThoughTheClientKeepsItsSideOpen(t *testing.T) {
	for _, how := range []string{"idle", "drain"} {
		r, lines := logged(t)
		if how == "idle" {
			r.proxy.cfg.Timeouts.BodyIdle = 200 * time.Millisecond
		}
		entry := r.route("grpc.test", []string{"h2c://" + serveH2C(t, grpcEcho)})
		judge := &testJudge{}
		judged(entry, nil, judge)
		r.start()
		pr, pw := io.Pipe()
		go func() { _, _ = pw.Write(frame("one")) }()
		res := r.grpc(t, "/"+how, pr)
		if m, err := readFrame(res.Body); m != "echo one" || err != nil {
			t.Fatalf("%q, %v", m, err)
		}
		want := route.ReasonClientTimeout
		if how == "drain" {
			want = route.ReasonBackendClosed
			placement(entry, 0).Upstream.Retire(route.Drain{Timeout: int64(50 * time.Millisecond)})
		}
		if _, err := readFrame(res.Body); err == nil {
			t.Errorf("%s: another message", how)
		}
		_ = pw.Close()
		wantLine(t, lines.find(t, "path", "/"+how), map[string]any{"status": 200.0, "reason": string(want)})
		if how == "idle" {
			blameless(t, r, entry, judge)
		}
	}
}
