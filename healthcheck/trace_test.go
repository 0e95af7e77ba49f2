package healthcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// probeLines are the lines of probes in the log, as "check entrypoints address result kind
// status", and what each is checked for.
func (r *rig) probeLines() (lines []string, all []map[string]any) {
	for _, line := range r.logs.lines() {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			r.t.Fatal(err)
		}
		if m["message"] != "probe" {
			continue
		}
		all = append(all, m)
		lines = append(lines, fmt.Sprint(m["entrypoints"], " ", m["address"], " ", m["result"], " ", m["kind"], " ", m["status"]))
	}
	return lines, all
}

// TestTrace: one line per probe at trace level, with what it saw and when the next is.
func TestTrace(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.engine.cfg.Log = r.engine.cfg.Log.Level(zerolog.TraceLevel)
		r.net.set("10.0.0.1:80", answer(ok200))
		r.net.set("10.0.0.2:80", answer("HTTP/1.1 503 X\r\n\r\n"))
		a, b := backend("b1", "10.0.0.1", httpCheck("/health?token=CANARY7f3a")), backend("b2", "10.0.0.2", httpCheck("/"))
		r.apply(r.set("http_a", a), r.set("http_b", a, b))
		r.run()
		r.at(5 * time.Second)
		r.net.set("10.0.0.1:80", func(context.Context) (net.Conn, error) { return nil, errno(syscall.EMFILE) })
		r.net.set("10.0.0.2:80", func(context.Context) (net.Conn, error) {
			<-time.After(2 * time.Second)
			return refuse(nil) //nolint:staticcheck // not looked at
		})
		r.at(10500 * time.Millisecond)
		r.apply(r.set("http_a", a), r.set("http_b", a)) // b2 goes with a probe in flight
		r.at(12500 * time.Millisecond)
		want := []string{
			"[http_a http_b] 10.0.0.1:80 ok  200", "[http_b] 10.0.0.2:80 failed bad_status 503",
			"[http_a http_b] 10.0.0.1:80 local local_error 0", "[http_a http_b] 10.0.0.1:80 local local_error 0",
			"[http_a http_b] 10.0.0.1:80 local local_error 0", "[] 10.0.0.2:80 late connection_refused 0",
		}
		got, all := r.probeLines()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("lines\n%q, want\n%q", got, want)
		}
		for _, m := range all {
			_, planned := m["next"]
			if m["level"] != "trace" || m["check"] == "" || m["duration_ms"] == nil || planned == (m["result"] == traceLate) {
				t.Errorf("%v", m)
			}
			if _, answered := m["first_byte_ms"]; answered != (m["status"] != 0.0) || m["tls_ms"] != nil {
				t.Errorf("phases of %v", m)
			}
		}
		if text := strings.Join(r.logs.lines(), "\n"); strings.Contains(text, "CANARY") {
			t.Error("a line holds a secret")
		}
		r.stop()
		synctest.Wait()
	})
}

// TestNoTraceAtDebug: without the level no line is written, nor anything queued, per probe.
func TestNoTraceAtDebug(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_a", backend("b1", "10.0.0.1")))
		r.run()
		r.at(5 * time.Second)
		before := len(r.logs.lines())
		r.at(time.Hour)
		if after := r.logs.lines(); len(after) != before {
			t.Errorf("%d lines in an hour of steady state: %s", len(after)-before, after[before:])
		}
		if got := r.engine.Stats().Probes; got < 300 {
			t.Errorf("%d probes", got)
		}
	})
}
