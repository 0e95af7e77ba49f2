package proxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestNoBackendStatus: it is the answer where nothing may serve, and only there; the
// reason stays, and Retry-After goes with 503.
func TestNoBackendStatus(t *testing.T) {
	for _, tt := range []struct {
		reason     route.Reason
		own        int
		status     int
		retryAfter bool
	}{
		{route.ReasonAllUnhealthy, 503, 503, true},
		{route.ReasonAllUnhealthy, 502, 502, false},
		{route.ReasonAllUnhealthy, 0, 503, true},
		{route.ReasonNoBackends, 502, 502, false},
		{route.ReasonRetained, 502, 502, false},
		{route.ReasonLeaving, 502, 502, false},
		{route.ReasonInitializing, 502, 502, false},
		{route.ReasonAllDraining, 502, 502, false},
		{route.ReasonAllMaintenance, 404, 404, false},
		{route.ReasonDockerUnhealthy, 502, 502, false},
		{route.ReasonCircuitOpen, 502, 503, true},
		{route.ReasonOverloaded, 502, 503, true},
		{route.ReasonQueueFull, 502, 503, true},
		{route.ReasonTooManyInFlight, 502, 503, true},
		{route.ReasonRateLimited, 502, 429, true},
		{route.ReasonMisconfigured, 502, 503, false},
		{route.ReasonConnectRefused, 503, 502, false},
	} {
		r := newRig(t)
		r.route("app.test", nil, func(e *route.Entrypoint) { e.Options.NoBackendStatus = tt.own })
		x := exchangeFor(t, "app.test", "/")
		w := httptest.NewRecorder()
		x.Response = &writer{w: w, rc: *http.NewResponseController(w)}
		x.Route = r.Table().Match(x)
		r.proxy.refuse(x, tt.reason)
		res := w.Result()
		_ = res.Body.Close()
		wantReason(t, res, tt.status, tt.reason)
		if got := res.Header.Get("Retry-After") != ""; got != tt.retryAfter || x.Status != tt.status || x.Reason != tt.reason {
			t.Errorf("%s with %d: Retry-After %v, logged as %d %s", tt.reason, tt.own, got, x.Status, x.Reason)
		}
	}
}

// TestNoBackendForGRPCAndWebSocket: they get what they understand, whatever
// noBackendStatus says.
func TestNoBackendForGRPCAndWebSocket(t *testing.T) {
	r := newRig(t)
	entry := r.route("grpc.test", nil, func(e *route.Entrypoint) { e.Options.NoBackendStatus = 502; e.Options.HoldFor = 0 })
	entry.Cell.Store(&route.Rotation{Reason: route.ReasonAllUnhealthy})
	r.start()
	res := r.grpc(t, "/svc/Echo", bytes.NewReader(frame("x")))
	if res.StatusCode != 200 || res.Header.Get("Grpc-Status") != "14" {
		t.Errorf("gRPC: %d %v", res.StatusCode, res.Header)
	}
	req := r.request("GET", "grpc.test", "/", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	res, _ = r.do(req)
	wantReason(t, res, 503, route.ReasonAllUnhealthy)
	res, _ = r.get("grpc.test", "/")
	wantReason(t, res, 502, route.ReasonAllUnhealthy)
}

// TestRetryAfterOfTheBreaker: whole seconds, rounded up, 1 to 30.
func TestRetryAfterOfTheBreaker(t *testing.T) {
	x := exchangeFor(t, "app.test", "/")
	for wait, want := range map[time.Duration]int{0: 1, time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2, time.Hour: 30, -time.Second: 1} {
		if got := retryAfter(x, route.ReasonCircuitOpen, wait); got != want {
			t.Errorf("%v: %d, want %d", wait, got, want)
		}
	}
}

// TestOnDownCloseEndsTunnels: both sides see the end; requests in flight go on, and
// CloseIdle alone ends no tunnel.
func TestOnDownCloseEndsTunnels(t *testing.T) {
	g := newGate()
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/ws" {
			echoWebSocket(w, req)
			return
		}
		g.serve(w, req)
	})})
	r.start()
	tunnel := r.websocket("app.test")
	if err := echo(tunnel, "x"); err != nil {
		t.Fatal(err)
	}
	done := r.inBackground("GET", "app.test", "/")
	<-g.began
	up, load := placement(entry, 0).Upstream, placement(entry, 0).Load
	up.CloseIdle()
	if err := echo(tunnel, "y"); err != nil {
		t.Errorf("idle connections were to be closed, the tunnel ended: %v", err)
	}
	up.CloseTunnels("other")
	if err := echo(tunnel, "o"); err != nil {
		t.Errorf("a tunnel of another entrypoint was to be closed: %v", err)
	}
	up.CloseTunnels(entry.Entrypoint.ID)
	eventually(t, "no tunnel", func() bool { return load.Tunnels.Load() == 0 })
	if err := echo(tunnel, "z"); err == nil {
		t.Error("the client's side stays open")
	}
	if n := load.InFlight.Load(); n != 1 {
		t.Errorf("%d in flight", n)
	}
	close(g.finish)
	if a := <-done; a.err != nil || a.res.StatusCode != 200 {
		t.Errorf("the request in flight: %+v", a)
	}
	up.CloseTunnels(entry.Entrypoint.ID) // nothing is left
}

// TestClientCertificate: a backend that asks for one gets that which the label names.
func TestClientCertificate(t *testing.T) {
	mine := selfSigned(t, "router")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Client", req.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	s.Config.ErrorLog = quietLog(New(Config{}))
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(mine.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(leaf)
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	s.StartTLS()
	t.Cleanup(s.Close)
	for name, status := range map[string]int{"": 502, "mine": 200, "stranger": 502} {
		r := newRig(t, func(c *Config) {
			c.ClientCerts = map[string]*tls.Certificate{"mine": mine, "stranger": selfSigned(t, "stranger")}
		})
		r.route("app.test", []string{"https://" + s.Listener.Addr().String()}, func(e *route.Entrypoint) {
			e.Backends[0].TLS = route.BackendTLS{InsecureSkipVerify: true, ClientCert: name}
			e.Options.RetryAttempts = 1
		})
		r.start()
		res, _ := r.get("app.test", "/")
		if res.StatusCode != status || status == 200 && res.Header.Get("X-Client") != "router" {
			t.Errorf("certificate %q: %d %v", name, res.StatusCode, res.Header)
		}
		if status == 502 {
			wantReason(t, res, 502, route.ReasonTLSFailed)
		}
	}
	_, err = New(Config{}).Open(route.Backend{ID: "b1", Scheme: route.SchemeHTTPS, TLS: route.BackendTLS{ClientCert: "missing"}})
	if err == nil || !strings.Contains(err.Error(), `"missing"`) || !strings.Contains(err.Error(), "b1") {
		t.Errorf("%v", err)
	}
}

func selfSigned(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestRefusalAfterAFailedContact: who had contact with a backend is told how that ended,
// not that no other one can be had.
func TestRefusalAfterAFailedContact(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{closedAddress(t), closedAddress(t)})
	judged(entry, &onceGate{})
	r.start()
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 502, route.ReasonConnectRefused)
	if n := placement(entry, 0).Load.Requests.Load() + placement(entry, 1).Load.Requests.Load(); n != 1 {
		t.Errorf("%d contacts", n)
	}
	res, _ = r.get("app.test", "/")
	wantReason(t, res, 503, route.ReasonCircuitOpen)
}
