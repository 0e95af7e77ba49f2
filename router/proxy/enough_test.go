package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"fairlead/router/route"
)

// upload sends a long body while it reads the answer.
func (r *rig) upload(path string) *http.Response {
	r.t.Helper()
	c := r.dial()
	go func() {
		_, _ = io.WriteString(c, "PUT "+path+" HTTP/1.1\r\nHost: app.test\r\nContent-Length: 30000000\r\n\r\n")
		_, _ = c.Write(make([]byte, 30_000_000))
	}()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// TestBackendThatHasEnoughOfAnUpload: it closes its connection, after an answer or without
// one, which resets it under what is still sent. The answer must not be lost to that (net/http
// returns the error of its write first), and no client may get a backend ejected with it.
func TestBackendThatHasEnoughOfAnUpload(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		switch req.URL.Path {
		case "/answers":
			_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
		case "/ends":
			_, _ = io.CopyN(io.Discard, req.Body, 64<<10)
		}
	})})
	judge := &testJudge{}
	judged(entry, nil, judge)
	r.start()
	for range 30 {
		res := r.upload("/answers")
		if body, err := io.ReadAll(res.Body); res.StatusCode != http.StatusRequestEntityTooLarge || string(body) != "big" || err != nil {
			t.Fatalf("%d %v, %q %v", res.StatusCode, res.Header, body, err)
		}
	}
	for range 10 {
		began := time.Now()
		wantReason(t, r.upload("/ends"), 502, route.ReasonBackendClosed)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end of the backend was seen after %v", took)
		}
	}
	_, _, told := judge.seen()
	for _, o := range append(told, r.outcomes.all()...) {
		if o.Transport && !o.Void {
			t.Errorf("the backend is blamed: %+v", o)
		}
	}
}
