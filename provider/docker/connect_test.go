package docker

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
)

func TestEndpoints(t *testing.T) {
	for raw, want := range map[string]struct {
		network, address, base string
		secure                 bool
	}{
		"":                                {"unix", "/var/run/docker.sock", "", false},
		"/run/user/1000/docker.sock":      {"unix", "/run/user/1000/docker.sock", "", false},
		"unix:///run/podman/podman.sock":  {"unix", "/run/podman/podman.sock", "", false},
		"tcp://proxy:2375":                {"tcp", "proxy:2375", "", false},
		"tcp://proxy":                     {"tcp", "proxy:2375", "", false},
		"tcp://[::1]":                     {"tcp", "[::1]:2375", "", false},
		"tcp://[::1]:99":                  {"tcp", "[::1]:99", "", false},
		"http://proxy:2375/engines/one/":  {"tcp", "proxy:2375", "engines/one", false},
		"https://engine":                  {"tcp", "engine:2376", "", true},
		"HTTPS://engine.example.com:4243": {"tcp", "engine.example.com:4243", "", true},
	} {
		p, err := New(Config{Endpoint: raw})
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		ep, err := parseEndpoint(p.cfg)
		if err != nil || ep.network != want.network || ep.address != want.address || ep.base != want.base || ep.secure != want.secure {
			t.Errorf("%q became %+v, %v", raw, ep, err)
		}
	}
	for raw, hint := range map[string]string{
		"ssh://root@server":        "ssh -nNT -L",
		"npipe:////./pipe/docker":  "unix://",
		"docker.sock":              "unix://",
		"tcp://":                   "unix://",
		"fd://":                    "unix://",
		"unix://" + longPath():     "unix://",
		"ssh://root@server/socket": "root@server,",
	} {
		_, err := New(Config{Endpoint: raw})
		if raw == "unix://"+longPath() {
			if err == nil { // found when the client is made
				_, err = newClient(endpoint{raw: raw, network: "unix", address: longPath()}, "")
			}
		}
		var p *EngineError
		if !errors.As(err, &p) || !strings.Contains(p.Hint, hint) || !strings.Contains(p.Error(), raw) {
			t.Errorf("%q: %v", raw, err)
		}
	}
	if _, err := New(Config{Endpoint: "ssh://root:hunter2@server"}); err == nil || strings.Contains(fmt.Sprint(describe(err)), "hunter2") {
		t.Errorf("a password is shown: %v", err)
	}
}

// TestAnEndpointWithAUserIsRefused: it can never work, and whoever may read the state would
// read the name. No error shows it, however odd the address is.
func TestAnEndpointWithAUserIsRefused(t *testing.T) {
	for _, raw := range []string{
		"tcp://hunter2@engine:2375", "tcp://hunter2:hunter2@engine:2375", "https://hunter2:x@engine/base", "HTTP://a:hunter2/%zz@engine",
		"tcp://u:hunter2@x@engine", "hunter2:hunter2@engine:2375", "npipe://hunter2@engine", "tcp://hunter2@",
	} {
		_, err := New(Config{Endpoint: raw})
		if err == nil {
			t.Errorf("%q is taken", raw)
			continue
		}
		if text, hint := describe(err); strings.Contains(err.Error()+text+hint, "hunter2") || !strings.Contains(text, "***@") {
			t.Errorf("%q: %s; %s", raw, text, hint)
		}
	}
}

func longPath() string { return "/" + strings.Repeat("x", 200) }

func TestConnectionProblemsAreTold(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "tcp://" + tcp.Addr().String()
	_ = tcp.Close()
	for endpoint, want := range map[string][2]string{
		"unix://" + filepath.Join(dir, "none.sock"): {"there is no engine socket at", "mount its socket"},
		"unix://" + dead: {"nobody listens", "mount its directory"},
		closed:           {"refused", "socket proxy"},
	} {
		_, err := newProvider(t, endpoint, nil).Collect(t.Context())
		text, hint := describeOrEmpty(err)
		if !strings.Contains(text, want[0]) || !strings.Contains(hint, want[1]) {
			t.Errorf("%s: %q, hint %q", endpoint, text, hint)
		}
	}
}

// What answers and is no engine that we can speak to is told with what to do.
func TestServersThatAreNoPlainEngineAreTold(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	page := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<!DOCTYPE html><title>Welcome</title>")
		})
	}
	site, missing := httptest.NewServer(page(http.StatusOK)), httptest.NewServer(page(http.StatusNotFound))
	defer site.Close()
	defer missing.Close()
	for name, c := range map[string]struct {
		scheme     string
		server     *httptest.Server
		text, hint string
	}{
		"TLS":            {"tcp", secure, "speaks TLS", "DOCKER_TLS_VERIFY=1"},
		"no TLS":         {"https", site, "speaks no TLS", "use tcp://"},
		"a page":         {"tcp", site, "is no engine: it answers with a web page", "--docker"},
		"no page at all": {"tcp", missing, "is no engine: it answers with a web page", "--docker"},
	} {
		_, err := newProvider(t, c.scheme+"://"+c.server.Listener.Addr().String(), nil).Collect(t.Context())
		text, hint := describeOrEmpty(err)
		if !strings.Contains(text, c.text) || !strings.Contains(hint, c.hint) {
			t.Errorf("%s: %q, hint %q", name, text, hint)
		}
	}
}

func describeOrEmpty(err error) (text, hint string) {
	if err == nil {
		return "", ""
	}
	return describe(err)
}

// What a test that runs as root or without a network cannot make happen.
func TestDialErrorsAreClassified(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "docker.sock")
	for _, path := range []string{socket, socket + ".mine"} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(socket, 0o660); err != nil {
		t.Fatal(err)
	}
	mine := endpoint{network: "unix", address: socket + ".mine"}
	hidden := errors.New("Cannot connect to the Docker daemon at somewhere")
	unix, tcp := endpoint{raw: "unix://" + socket, network: "unix", address: socket}, endpoint{raw: "tcp://engine:1", network: "tcp"}
	for name, c := range map[string]struct {
		ep         endpoint
		dial       error
		text, hint string
	}{
		"no permission":             {unix, os.NewSyscallError("connect", syscall.EACCES), "no permission", "--group-add"},
		"no permission for a group": {mine, os.NewSyscallError("connect", syscall.EACCES), "no permission", "0600"},
		"no permission, no socket":  {endpoint{network: "unix", address: "/nowhere"}, syscall.EACCES, "no permission", "the group that owns it"},
		"time-out":                  {tcp, os.ErrDeadlineExceeded, "no answer from", "firewall"},
		"anything else":             {tcp, &net.DNSError{Err: "no such host", Name: "engine", IsNotFound: true}, "no such host", "--docker"},
		"time-out of a call itself": {tcp, nil, "in time", "hung"},
	} {
		var dial *net.OpError
		err := hidden
		if c.dial != nil {
			dial = &net.OpError{Op: "dial", Net: c.ep.network, Err: c.dial}
		} else {
			err = context.DeadlineExceeded
		}
		text, hint := describe(explain(err, dial, c.ep, "GET /_ping", "1.51"))
		if !strings.Contains(text, c.text) || !strings.Contains(hint, c.hint) {
			t.Errorf("%s: %q, hint %q", name, text, hint)
		}
	}
	if err := explain(context.Canceled, nil, tcp, "GET /", "1.51"); !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the context became %v", err)
	}
	known := problem(nil, "h", "t")
	if err := explain(known, nil, tcp, "GET /", "1.51"); !errors.Is(err, known) {
		t.Errorf("a classified error became %v", err)
	}
	if speakable("2.0") || speakable("1.9") || !speakable("1.40") {
		t.Error("API versions compare wrongly")
	}
}

func TestTLSMaterial(t *testing.T) {
	dir := certificates(t)
	e := enginetest.New(enginetest.Docker29)
	e.Run(web("app"))
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil || !pool.AppendCertsFromPEM(ca) {
		t.Fatal("no CA")
	}
	server := httptest.NewUnstartedServer(e)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	at := server.Listener.Addr().String()
	with := func(verify bool) func(*Config) {
		return func(c *Config) { c.CertPath, c.TLSVerify = dir, verify }
	}
	for _, c := range []struct {
		endpoint string
		verify   bool
	}{{"tcp://" + at, true}, {"tcp://" + at, false}, {"https://" + at, true}} {
		s, err := newProvider(t, c.endpoint, with(c.verify)).Collect(t.Context())
		if err != nil || of(s, "http_web") == "-" {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := newProvider(t, "https://"+at, nil).Collect(t.Context()); err == nil {
		t.Error("a certificate of nobody's authority was accepted")
	}
	if _, err := newProvider(t, "tcp://"+at, nil).Collect(t.Context()); err == nil {
		t.Error("an engine with TLS answered a plain request")
	}
	_, err = New(Config{Endpoint: "tcp://" + at, CertPath: t.TempDir(), TLSVerify: true})
	if _, hint := describeOrEmpty(err); !strings.Contains(hint, "ca.pem") {
		t.Errorf("missing TLS material: %v", err)
	}
	if _, err := New(Config{CertPath: t.TempDir(), TLSVerify: true}); err != nil {
		t.Errorf("a unix socket needs no TLS material: %v", err)
	}
}

// certificates makes a folder as DOCKER_CERT_PATH expects it, for 127.0.0.1.
func certificates(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "engine"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: der}, "cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"key.pem": {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEventsThatAreNeverAcceptedEndInTime(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.Delay(enginetest.Events, time.Hour)
	ep, err := parseEndpoint(Config{Endpoint: e.ServeUnix(t)})
	if err != nil {
		t.Fatal(err)
	}
	eng, err := dialer(ep)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	eng.(*dockerClient).patience = time.Millisecond
	_, errs := eng.Events(t.Context(), time.Time{})
	select {
	case err := <-errs:
		if !strings.Contains(err.Error(), "GET /events got no answer") {
			t.Errorf("error %v", err)
		}
	case <-time.After(2 * callTimeout):
		t.Error("the subscription hangs")
	}
}

func TestAnswersThatAreNotComplete(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/version") {
			w.WriteHeader(http.StatusInternalServerError) // the version is for display only
			return
		}
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(server.Close)
	ep, err := parseEndpoint(Config{Endpoint: server.URL + "/base"})
	if err != nil {
		t.Fatal(err)
	}
	eng, err := dialer(ep)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	if _, err := eng.Inspect(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "not complete") {
		t.Errorf("an empty inspect gave %v", err)
	}
	if _, err := eng.List(t.Context()); err == nil {
		t.Error("an object was taken for a list")
	}
	if _, err := eng.Networks(t.Context()); err == nil || errors.Is(err, errDenied) {
		t.Errorf("an object for networks gave %v", err)
	}
	if got := convertEndpoint(nil); got != (attachment{}) {
		t.Errorf("no endpoint became %+v", got)
	}
	if got := parseTime("yesterday"); !got.IsZero() {
		t.Errorf("nonsense became %v", got)
	}
}
