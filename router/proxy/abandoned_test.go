package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestContactsThatTheClientGaveUpAreCounted: a backend that hangs is not idle because its
// clients lose patience. The contacts have no answer and the time that they waited, and
// neither they nor those that a client's bad chunk spoiled are failures of the backend.
func TestContactsThatTheClientGaveUpAreCounted(t *testing.T) {
	const patience = 30 * time.Millisecond
	for name, ask := range map[string]func(r *rig){
		"the client leaves": func(r *rig) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if res, err := client(t).Do(r.request("GET", "app.test", "/", nil).WithContext(ctx)); err == nil {
				_ = res.Body.Close()
				t.Errorf("status %d of a backend that hangs", res.StatusCode)
			}
		},
		"a bad chunk": func(r *rig) {
			conn := r.dial()
			_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
			<-time.After(patience) // the backend has it
			_, _ = io.WriteString(conn, "zz\r\n\r\n")
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			wantReason(t, res, http.StatusBadRequest, route.ReasonBadRequest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			judge := &testJudge{}
			entry := r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, _ *bufio.Reader) { _, _ = io.Copy(io.Discard, c) })})
			judged(entry, nil, judge)
			r.start()
			for range 3 {
				ask(r)
			}
			traffic := &placement(entry, 0).Load.Traffic
			eventually(t, "three contacts are counted", func() bool { c := traffic.Counts(); return c.Requests() == 3 })
			if c := traffic.Counts(); c.Classes[0] != 3 || c.Abandoned != 3 || c.Sum < 3*patience/2 {
				t.Errorf("counted %+v", c)
			}
			if len(r.outcomes.all()) != 0 {
				t.Errorf("told the health engine of %+v", r.outcomes.all())
			}
			balanced(t, entry, nil, judge)
			if _, _, seen := judge.seen(); len(seen) != 3 || !seen[0].Void {
				t.Errorf("judged %+v", seen)
			}
		})
	}
}

// TestStatusBeyond599IsAServerError as RFC 9110 section 15 has it, and no client that left.
func TestStatusBeyond599IsAServerError(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			if _, err := readSeen(br); err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n")
		}
	})})
	r.start()
	if res, _ := r.get("app.test", "/"); res.StatusCode != 999 {
		t.Errorf("status %d", res.StatusCode)
	}
	for name, traffic := range map[string]*route.Traffic{"entrypoint": &entry.Cell.Traffic, "backend": &placement(entry, 0).Load.Traffic} {
		if c := traffic.Counts(); c.Classes != [route.StatusClasses]uint64{5: 1} {
			t.Errorf("%s: %v", name, c.Classes)
		}
	}
}
