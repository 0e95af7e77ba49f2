package healthcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"fairlead/router/route"
)

// grpcHealth answers as a gRPC server with a health service does, by net/http.
func grpcHealth(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 2 || r.URL.Path != grpcMethod {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	_, _ = w.Write([]byte("\x00\x00\x00\x00\x02\x08\x01"))
	w.Header().Set("Grpc-Status", "0")
}

// loopbackServer is a server of net/http with HTTP/1.1, HTTP/2 in the clear and a
// WebSocket.
func loopbackServer(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/", grpcHealth)
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, "ready %s", r.Method) })
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		u := websocket.Upgrader{}
		c, err := u.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		if _, _, err = c.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			t.Errorf("the WebSocket ended with %v", err)
		}
	})
	s := httptest.NewUnstartedServer(mux)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// TestOnceOnLoopback: every type of probe meets a server that we did not write.
func TestOnceOnLoopback(t *testing.T) {
	plain, secure := loopbackServer(t, false), loopbackServer(t, true)
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	cfg := Config{AllowLoopback: true, CAs: map[string]*x509.CertPool{"lab": pool}}
	for _, tt := range []struct {
		kind  route.ProbeType
		path  string
		words string
	}{
		{route.ProbeTCP, "", "connected"}, {route.ProbeTLS, "", "TLS handshake done"}, {route.ProbeHTTP, "/ok", "answered 200"},
		{route.ProbeGRPC, "", "the server is SERVING"}, {route.ProbeWebSocket, "/ws", "opened"},
	} {
		for _, s := range []*httptest.Server{plain, secure} {
			if tt.kind == route.ProbeTLS && s == plain {
				continue
			}
			address := netip.MustParseAddrPort(s.Listener.Addr().String())
			b := route.Backend{Host: address.Addr().String(), Port: address.Port()}
			c := route.Check{Type: tt.kind, Path: tt.path, TLS: route.BackendTLS{CA: "lab"}}
			if s == secure {
				c.Scheme = route.SchemeHTTPS
			}
			r := Once(t.Context(), cfg, b, c)
			if !r.Result.OK || r.Hint != "" || !strings.Contains(r.Result.Message, tt.words) || r.Result.Remote != address.String() || r.Counted {
				t.Errorf("%s at %s: %+v", tt.kind, s.URL, r)
			}
			if got := r.Exchange.Certificate; (got != nil) != (s == secure && tt.kind != route.ProbeTCP) || got != nil && !slices.Contains(got.Names, "example.com") {
				t.Errorf("%s at %s: certificate %+v", tt.kind, s.URL, got)
			}
			if (r.Result.GRPC == 0) != (tt.kind == route.ProbeGRPC) || r.Result.GRPC < -1 {
				t.Errorf("%s: grpc-status %d", tt.kind, r.Result.GRPC)
			}
			checkPhases(t, tt.kind, &r.Result)
		}
	}
}

// TestOnceShowsNoSecrets: values of headers and queries, and what a backend makes of
// them, are in nothing that a probe tells, and neither is a compressed copy of them.
func TestOnceShowsNoSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"everywhere":    "HTTP/1.1 200 c4nary\r\nX-Echo: c4nary\r\nc4nary c4nary: x\r\nSet-Cookie: c4nary\r\n\r\nc4nary",
		"redirect":      "HTTP/1.1 302 c4nary\r\nLocation: http://c4nary.test/c4nary?c4nary=c4nary\r\n\r\n",
		"redirect here": "HTTP/1.1 302 c4nary\r\nLocation: /c4nary\r\n\r\n",
		"no HTTP":       "c4nary c4nary\r\n",
		"status line":   "HTTP/1.1 c4nary\r\n\r\n",
		"header line":   "HTTP/1.1 200 OK\r\nc4nary\r\n\r\n",
		"length":        "HTTP/1.1 200 OK\r\nContent-Length: c4nary\r\n\r\n",
		"chunks":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc4nary\r\n",
		"encoding":      "HTTP/1.1 200 OK\r\nContent-Encoding: c4nary\r\n\r\nx",
		"upgrade":       "HTTP/1.1 101 c4nary\r\nUpgrade: c4nary\r\nSec-WebSocket-Accept: c4nary\r\n\r\n",
	} {
		for _, kind := range []route.ProbeType{route.ProbeHTTP, route.ProbeWebSocket, route.ProbeGRPC} {
			dial := answer(text)
			if kind == route.ProbeGRPC {
				dial = speaksH2(plays(fieldsOf(false, ":status", "200", "content-type", "application/grpc", "x", canary), fieldsOf(true, "grpc-status", "13", "grpc-message", canary)))
			}
			cfg := Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
			r := Once(t.Context(), cfg, route.Backend{Host: "10.0.0.1", Port: 80}, route.Check{
				Type: kind, Path: "/h?key=c4nary&c4nary", FollowRedirects: true, BodyRegex: "^never",
				Headers: []route.CheckHeader{{Name: "X-Key", Value: canary}},
			})
			shown, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(shown) + fmt.Sprintf("%+v", r); strings.Contains(text, canary) && name != "redirect here" {
				t.Errorf("%s, %s: %s", kind, name, text)
			} else if name == "redirect here" && strings.Contains(r.Result.Message+r.Hint, canary) {
				t.Errorf("%s, %s: %s", kind, name, text)
			}
		}
	}
}

// TestOnceDetails: what went over the wire, also of a probe that failed.
func TestOnceDetails(t *testing.T) {
	ca := newAuthority(t)
	expired := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), "10.0.0.1", "app.test")}}
	dials := map[string]func(context.Context) (net.Conn, error){
		"10.0.0.1:80": answer("HTTP/1.0 503 Nope\r\nServer: x\r\nX-A: b\r\n\r\n"), "10.0.0.1:81": answer("HTTP/1.1 200 OK\r\nX-A: b\r\nX-A: c\r\n\r\nall ready"),
		"10.0.0.1:82": overTLS(expired, ok200), "10.0.0.1:83": func(context.Context) (net.Conn, error) { return nil, errno(syscall.ECONNREFUSED) },
	}
	cfg := Config{CAs: map[string]*x509.CertPool{"lab": ca.pool}, Dial: func(ctx context.Context, _, address string) (net.Conn, error) { return dials[address](ctx) }}
	once := func(port uint16, c route.Check) route.ProbeReport {
		c.Port = port
		return Once(t.Context(), cfg, route.Backend{Host: "10.0.0.1", Port: 80}, c)
	}
	web := route.Check{Type: route.ProbeHTTP, Path: "/h?a=b", Headers: []route.CheckHeader{{Name: "X-Key", Value: "v"}}}
	r := once(80, web)
	x := r.Exchange
	if r.Result.Kind != route.KindBadStatus || r.Result.Status != 503 || x.RequestLine != "GET /h?a=*** HTTP/1.1" || x.StatusLine != "HTTP/1.0 503 Service Unavailable" ||
		!slices.Equal(x.RequestHeaders, []string{"Host", "User-Agent", "Accept", "Connection", "X-Key"}) || !slices.Equal(x.ResponseHeaders, []string{"Server", "X-A"}) {
		t.Errorf("%+v", r)
	}
	if r.Address != "10.0.0.1:80" || r.Check.Target != r.Address || r.Check.Check.Path != "/h?a=***" || r.Check.ID == "" {
		t.Errorf("%+v", r.Check)
	}
	web.BodyContains = "ready"
	if r = once(81, web); !r.Result.OK || r.Exchange.BodyBytes != 9 || r.Result.Phases.Body < 0 || len(r.Exchange.ResponseHeaders) != 2 {
		t.Errorf("%+v", r)
	}
	r = once(82, route.Check{Type: route.ProbeTLS, TLS: route.BackendTLS{CA: "lab"}})
	if c := r.Exchange.Certificate; r.Result.Kind != route.KindTLSFailure || c == nil || !slices.Equal(c.Names, []string{"app.test", "10.0.0.1"}) ||
		c.Issuer != "CN=test authority" || c.NotAfter.Year() != 1999 || !strings.Contains(r.Hint, "renew") {
		t.Errorf("%+v, certificate %+v", r, c)
	}
	if r = once(83, route.Check{Type: route.ProbeTCP}); !strings.Contains(r.Hint, "healthCheck.port 83 (traffic goes to 80)") || r.Result.Remote != "10.0.0.1:83" {
		t.Errorf("%+v", r)
	}
	if r = once(80, route.Check{Type: "pigeon"}); r.Result.Kind != route.KindConfigError || r.Result.GRPC != -1 {
		t.Errorf("%+v", r)
	}
	// What no Dial is ready for ends in a panic: it is a failed probe, not the end.
	cfg.Dial = func(context.Context, string, string) (net.Conn, error) { panic("bug") }
	if r = once(80, web); r.Result.Kind != route.KindConfigError || !strings.Contains(r.Result.Message, "bug") {
		t.Errorf("%+v", r)
	}
}

// stubbornProber answers when it likes.
type stubbornProber struct {
	after time.Duration
	says  Result
}

// Probe implements Prober.
func (p stubbornProber) Probe(context.Context, Target, *Spec) Result {
	<-time.After(p.after)
	return p.says
}

// TestLateResultIsTimeout: whatever a parser says after the deadline, it is a timeout;
// a local error stays one, since it says nothing about the backend.
func TestLateResultIsTimeout(t *testing.T) {
	protocol := newResult().fail(verdict{kind: route.KindProtocolError, message: "odd", clue: clueHTTP2})
	local := newResult().fail(verdict{kind: route.KindLocalError, message: "no files"})
	success := newResult()
	success.OK, success.Message = true, "fine"
	for _, tt := range []struct {
		after time.Duration
		says  Result
		kind  route.Kind
		words string
	}{
		{4 * time.Second, protocol, route.KindProtocolError, "odd"},
		{6 * time.Second, protocol, route.KindTimeout, "no answer in time (5s)"},
		{6 * time.Second, success, route.KindTimeout, "no answer in time (5s)"},
		{5 * time.Second, success, "", "fine"},
		{5 * time.Second, protocol, route.KindTimeout, "no answer in time (5s)"},
		{6 * time.Second, local, route.KindLocalError, "no files"},
		{time.Second, Result{}, route.KindOther, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			ctx, cancel := context.WithDeadlineCause(t.Context(), begin.Add(5*time.Second), errProbeDeadline)
			defer cancel()
			r := stubbornProber{tt.after, tt.says}.Probe(ctx, Target{}, nil)
			synctest.Wait()
			r = r.timed(time.Since(begin), 5*time.Second, context.Cause(ctx))
			if r.Kind != tt.kind || r.OK != (tt.kind == "") || r.Message != tt.words {
				t.Errorf("%s %+v: %+v", tt.after, tt.says, r)
			}
		})
	}
}

// TestTimeoutsSayWhen: in words that fit the part of the probe.
func TestTimeoutsSayWhen(t *testing.T) {
	for in, want := range map[phase]string{
		phaseTLS: "no answer in time during the TLS handshake", phaseConnect: "no answer in time while connecting",
		phaseRead: "no answer in time while waiting for the answer",
	} {
		if v := classify(context.DeadlineExceeded, in); v.message != want {
			t.Errorf("%s: %q", in, v.message)
		}
	}
}
