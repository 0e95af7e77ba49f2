package healthcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// echoes sends back whatever it is sent, once.
func echoes(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) {
		buf := make([]byte, 4096)
		n, _ := c.Read(buf)
		_, _ = c.Write(buf[:n])
	})(context.Background())
}

// TestSecretsOfEveryProbe (health.md, test 17): values of headers and of queries, and what
// a backend makes of them, are in no picture, transition, report of a probe, error, or line
// of the log, with one line for each probe.
func TestSecretsOfEveryProbe(t *testing.T) {
	ca := newAuthority(t)
	secret := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, farAway, "10.0.0.1")}}
	said := "HTTP/1.1 500 " + canary + "\r\nX-Echo: " + canary + "\r\n\r\n" + canary
	trailers := fieldsOf(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "13", "grpc-message", canary)
	for name, meets := range map[string]func(context.Context) (net.Conn, error){
		"echo": echoes, "HTTP": says(said), "HTTP/2": speaksH2(plays(trailers)), "refused": refuse, "silent": blackhole, "other": says("SSH-" + canary + "\r\n"),
		"TLS": handshake(secret, func(s *tls.Conn) { _, _ = s.Write([]byte(said)) }), "error": func(context.Context) (net.Conn, error) { return nil, fmt.Errorf("dial %w", errProbeObsolete) },
	} {
		for _, kind := range []route.ProbeType{route.ProbeHTTP, route.ProbeWebSocket, route.ProbeGRPC, route.ProbeTLS, route.ProbeTCP} {
			for _, scheme := range []route.Scheme{route.SchemeHTTP, route.SchemeHTTPS} {
				bubble(t, Config{StartupSpread: 1, CAs: map[string]*x509.CertPool{"lab": ca.pool}}, func(r *rig) {
					r.engine.cfg.Log = r.engine.cfg.Log.Level(zerolog.TraceLevel)
					r.net.set("10.0.0.1:80", meets)
					r.apply(r.set("http_a", backend("b1", "10.0.0.1", checked(func(c *route.Check) {
						c.Type, c.Scheme, c.Path, c.TLS.CA = kind, scheme, "/h?token="+canary+"&"+canary, "lab"
						c.Headers = []route.CheckHeader{{Name: "Authorization", Value: canary}, {Name: "X-Key", Value: canary}}
					}))))
					r.run()
					r.at(12 * time.Second)
					told := r.told()
					for _, count := range []bool{false, true} {
						report, err := r.engine.ProbeNow(r.t.Context(), "http_a", "b1", count)
						shown, _ := json.Marshal(report)
						told[fmt.Sprint("report, counted ", count)] = fmt.Sprintf("%s %+v %v", shown, report, err)
						r.at(time.Since(r.start) + time.Second)
					}
					for what, text := range told {
						if i := strings.Index(text, canary); i >= 0 {
							t.Errorf("%s, %s, %s: the %s shows it: %s", name, kind, scheme, what, text[max(0, i-80):i+20])
						}
					}
					if !strings.Contains(told["log"], `"message":"probe"`) {
						t.Errorf("%s, %s: no line about a probe", name, kind)
					}
				})
			}
		}
	}
}

// told is all that the engine tells, but for the checks as they are declared: those are the
// API's to redact.
func (r *rig) told() map[string]string {
	v := r.engine.View()
	for id, e := range v.Entrypoints {
		for i := range e.Backends {
			e.Backends[i].Backend.Check = nil
		}
		v.Entrypoints[id] = e
	}
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	return map[string]string{
		"view": fmt.Sprintf("%+v", v), "json": mustJSON(r.t, v), "log": strings.Join(r.logs.lines(), "\n"), "transitions": fmt.Sprintf("%#v", r.seen.all),
		"summary": fmt.Sprintf("%+v %+v", r.engine.Stats(), r.engine.Orders()),
	}
}
