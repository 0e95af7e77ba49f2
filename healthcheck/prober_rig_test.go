package healthcheck

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// meeting is a check and a server that it meets at 10.0.0.1, ports 80 and 81.
type meeting struct {
	name  string
	check func(*route.Check)
	meets func(context.Context) (net.Conn, error)
	kind  route.Kind // "" is a success
	words string     // in the message
	hint  string     // in the hint
}

// run lets an engine meet the server, looks at what it says 7 s after the start, and
// at the phases that the result must have reached.
func (m *meeting) run(t *testing.T, cfg Config) {
	t.Run(m.name, func(t *testing.T) {
		cfg.StartupSpread = 1
		bubble(t, cfg, func(r *rig) {
			r.net.set("10.0.0.1:80", m.meets)
			r.net.set("10.0.0.1:81", m.meets)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(m.check))))
			r.run()
			r.at(7 * time.Second)
			h := r.health("http_api", "b1")
			checkRules(t, &h)
			if m.kind == route.KindLocalError {
				if h.State != route.StatePending || r.engine.Stats().LocalErrors == 0 {
					t.Errorf("a local error made it %s", h.State)
				}
				return
			}
			if h.LastResult == nil {
				t.Fatal("no result after 7 s")
			}
			if h.LastResult.Kind != m.kind || !strings.Contains(h.LastResult.Message, m.words) || (h.State == route.StateUp) != (m.kind == "") {
				t.Errorf("%s, kind %q: %s", h.State, h.LastResult.Kind, h.LastResult.Message)
			}
			if !strings.Contains(h.Hint, m.hint) || m.kind == "" && h.Hint != "" {
				t.Errorf("hint %q, want %q in it", h.Hint, m.hint)
			}
			checkPhases(t, h.Check.Check.Type, h.LastResult)
		})
	})
}

// checkPhases holds that phases are reached in their order, that none is longer than the
// probe, and that a success has reached all that its type has.
func checkPhases(t *testing.T, kind route.ProbeType, r *route.ProbeResult) {
	t.Helper()
	p := r.Phases
	reached := true
	for _, d := range []time.Duration{p.DNS, p.Connect, p.FirstByte} {
		if d >= 0 && !reached || d > r.Duration {
			t.Errorf("phases %+v of a probe of %s", p, r.Duration)
		}
		reached = reached && d >= 0
	}
	if p.TLS >= 0 && p.Connect < 0 || p.Body >= 0 && p.FirstByte < 0 {
		t.Errorf("phases %+v", p)
	}
	talks := kind == route.ProbeHTTP || kind == route.ProbeGRPC || kind == route.ProbeWebSocket
	if r.OK && (p.Connect < 0 || talks != (p.FirstByte >= 0) || kind == route.ProbeTLS && p.TLS < 0) {
		t.Errorf("a success of %s with the phases %+v", kind, p)
	}
}

// webCheck asks /health of 10.0.0.1 by HTTP.
func webCheck(edits ...func(*route.Check)) func(*route.Check) {
	return func(c *route.Check) {
		c.Type, c.Scheme, c.Path, c.Host = route.ProbeHTTP, route.SchemeHTTP, "/health", "10.0.0.1"
		for _, edit := range edits {
			edit(c)
		}
	}
}

// ofType makes a check of another type, which trusts the authority "lab".
func ofType(kind route.ProbeType, edits ...func(*route.Check)) func(*route.Check) {
	return func(c *route.Check) {
		c.Type, c.TLS.CA = kind, "lab"
		for _, edit := range edits {
			edit(c)
		}
	}
}

func secured(c *route.Check) { c.Scheme = route.SchemeHTTPS }

// handshake serves TLS and then does something with the connection.
func handshake(cfg *tls.Config, then func(*tls.Conn)) func(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) {
		b := buffered(c).(*bufferedConn)
		s := tls.Server(b, cfg)
		if s.Handshake() == nil {
			then(s)
		} else {
			silent(c)
		}
		close(b.out)
		silent(c)
	})
}
