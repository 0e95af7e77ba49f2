package cli

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"fairlead/api"
)

// site is a server on loopback that repeats in its answers what it was sent.
func site(t *testing.T) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("X-Key"))
		if r.Host == "wrong.test" {
			w.WriteHeader(http.StatusMisdirectedRequest)
			return
		}
		_, _ = w.Write([]byte("all ready, " + r.URL.RawQuery + r.Header.Get("X-Key")))
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/health?k="+canary, http.StatusFound)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+canary+".test/", http.StatusFound)
	})
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{}
		if c, err := upgrader.Upgrade(w, r, nil); err == nil {
			_, _, _ = c.ReadMessage()
			_ = c.Close()
		}
	})
	return mux
}

// TestProbeAddress: one run for each kind of address, and what it says.
func TestProbeAddress(t *testing.T) {
	plain := httptest.NewServer(site(t))
	defer plain.Close()
	secure := httptest.NewTLSServer(site(t))
	defer secure.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	closed, hangsUp := closedPort(t), hangingUp(t)
	at, tlsAt := strings.TrimPrefix(plain.URL, "http://"), strings.TrimPrefix(secure.URL, "https://")
	secret := "?key=" + canary
	w := &world{t: t}
	for _, c := range []struct {
		args string
		code int
		has  string // words apart from each other
	}{
		{at, 0, "tcp " + at + "|resolve|connect|passed in|connected"},
		{"tcp://" + at, 0, "connected"},
		{closed, 1, "failed (connection_refused)|connection refused|Hint: nothing listens"},
		{"http://" + at + "/health" + secret, 0, "answer|> GET /health?key=*** HTTP/1.1|> Host, User-Agent|< HTTP/1.1 200 OK|X-Echo|passed|answered 200"},
		{"http://" + at + "/health -H X-Key:" + canary + " --contains ready --regex ^all", 0, "X-Key|bytes of the body were read|the body matches"},
		{"http://" + at + "/health --contains absent", 1, "bad_body|does not hold"},
		{"http://" + at + "/health --status 204", 1, "bad_status|answered 200, wanted 204"},
		{"http://" + at + "/health -X HEAD", 0, "> HEAD /health HTTP/1.1"},
		{"http://" + at + "/health --host wrong.test", 1, "answered 421|healthCheck.host"},
		{"http://" + at + "/health -H Host:wrong.test", 1, "answered 421"},
		{"http://" + at + "/moved", 0, "answered 302"},
		{"http://" + at + "/moved --follow-redirects", 0, "k=***|answered 200 after 1 redirect"},
		{"http://" + at + "/away --follow-redirects", 1, "redirect_blocked|another host"},
		{"http://" + tlsAt + "/health", 1, "answered 400|scheme=https"},
		{"https://" + tlsAt + "/health", 1, "tls_failure|certificate  O=Acme Co|issued by|unknown authority"},
		{"https://" + tlsAt + "/health --ca " + ca, 0, "TLS|TLS 1.3, http/1.1|names        example.com|valid|answered 200"},
		{"https://" + tlsAt + "/health --insecure", 0, "https " + tlsAt + "\n|answered 200"},
		{"https://" + tlsAt + "/health --sni other.test --ca " + ca, 1, "not for the name other.test but for example.com"},
		{"tls://" + tlsAt + " --ca " + ca + " --sni example.com", 0, "TLS handshake done"},
		{"tls://" + at, 1, "does not speak TLS"},
		{"ws://" + at + "/ws", 0, "< HTTP/1.1 101 Switching Protocols|the WebSocket opened"},
		{"wss://" + tlsAt + "/ws --insecure", 0, "wss " + tlsAt + "\n|the WebSocket opened"},
		{"ws://" + at + "/health" + secret, 1, "websocket_refused|answered 200, wanted 101"},
		{"grpc://" + at, 1, "gRPC needs HTTP/2"},
		{"grpcs://" + tlsAt + " --insecure", 1, "grpcs " + tlsAt + "\n"},
		{at + " --count 2 --interval 100ms", 0, "   1  passed|   2  passed|tcp " + at},
		{"169.254.169.254:80", 1, "probe_blocked|link-local|metadata|Hint: no flag permits it"},
		{"169.254.169.254:80 --allow-link-local", 1, "probe_blocked|link-local|Hint: no flag permits it"},
		{"169.254.1.1:80", 1, "probe_blocked|it is a link-local address\n|Hint: --allow-link-local permits it"},
		{"http://" + hangsUp + "/", 1, "http " + hangsUp + "|without an answer|Hint: the port may speak TLS|scheme=https"},
		{"ws://" + hangsUp + "/", 1, "ws " + hangsUp + "|Hint: the port may speak TLS"},
		{"grpc://" + hangsUp, 1, "grpc " + hangsUp + "|Hint: the port may speak TLS"},
		{"0.0.0.0:80", 1, "probe_blocked|unspecified"},
	} {
		r := w.run(append([]string{"probe"}, strings.Fields(c.args)...)...)
		if r.code != c.code {
			t.Errorf("probe %s: exit %d, want %d\n%s", c.args, r.code, c.code, r.all())
		}
		for part := range strings.SplitSeq(c.has, "|") {
			if !strings.Contains(r.out, part) {
				t.Errorf("probe %s does not say %q:\n%s", c.args, part, r.all())
			}
		}
	}
}

// TestProbeAddressUsage: what cannot be meant is refused with the reason, and what was
// given is not repeated.
func TestProbeAddressUsage(t *testing.T) {
	w := &world{t: t}
	for args, has := range map[string]string{
		"":                                       "accepts between 1 and 2 arg",
		"localhost":                              "no port",
		"localhost:0":                            "no port",
		"localhost:99999":                        "cannot be read|no port",
		"localhost:80/" + canary:                 "neither host:port nor a URL",
		"ftp://localhost/" + canary:              "no probe for the scheme ftp",
		"http://ops:" + canary + "@localhost/":   "credentials",
		"http://localhost/#" + canary:            "fragment",
		"http://%zz/" + canary:                   "cannot be read",
		"http:///" + canary:                      "names no host",
		"tcp://localhost:80/" + canary:           "asks for no path",
		"grpc://localhost":                       "no port",
		"localhost:80 --status 200":              "--status has no meaning",
		"localhost:80 --insecure":                "--insecure has no meaning",
		"http://localhost --ca x":                "--ca has no meaning",
		"http://localhost --grpc-service x":      "--grpc-service has no meaning",
		"http://localhost --status 999":          "--status",
		"http://localhost --regex (":             "--regex",
		"http://localhost --method POST":         "--method",
		"http://localhost -X HEAD --contains x":  "HEAD",
		"http://localhost -H X" + canary:         "first -H is not a header",
		"http://localhost --timeout 1ms":         "--timeout",
		"http://localhost --count 0":             "--count",
		"http://localhost --interval 1ms":        "--interval",
		"https://localhost --ca /nowhere/ca.pem": "--ca",
		"https://localhost --key /nowhere/k.pem": "without --cert",
		"https://localhost --cert /nowhere/c":    "--cert",
		"http://localhost --apply":               "for a backend of a router",
		"http_api shop-api-1 --timeout 1s":       "--timeout is for probing an ADDRESS",
	} {
		r := w.run(append([]string{"probe"}, strings.Fields(args)...)...)
		if r.code != exitUsage || !regexp.MustCompile(has).MatchString(r.err) || r.out != "" {
			t.Errorf("probe %s: exit %d, want %q:\n%s", args, r.code, has, r.all())
		}
	}
}

// TestProbeAddressJSON: the answer is that of the API; several probes are a list.
func TestProbeAddressJSON(t *testing.T) {
	plain := httptest.NewServer(site(t))
	defer plain.Close()
	w := &world{t: t}
	var one api.Probe
	r := w.run("probe", plain.URL+"/health?k="+canary, "-H", "X-Key: "+canary, "--json")
	if err := json.Unmarshal([]byte(r.out), &one); err != nil || r.code != 0 {
		t.Fatalf("%v, exit %d: %s", err, r.code, r.all())
	}
	if !one.Result.OK || one.WouldBe != "success" || one.Counted || one.Request == nil || one.Request.Line != "GET /health?k=*** HTTP/1.1" ||
		one.Response == nil || one.Response.StatusLine != "HTTP/1.1 200 OK" || one.Result.PhasesMS.FirstByte == nil || one.Result.PhasesMS.TLS != nil {
		t.Errorf("%s", r.out)
	}
	var list []api.Probe
	r = w.run("probe", closedPort(t), "--count", "2", "--interval", "100ms", "--json")
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || r.code != 1 || len(list) != 2 || list[1].WouldBe != "failure" {
		t.Errorf("%v, exit %d: %s", err, r.code, r.all())
	}
}

// TestProbeAddressJSONWithoutHTTP: what there is not is absent, and so is the bound that
// only a router can give.
func TestProbeAddressJSONWithoutHTTP(t *testing.T) {
	w := &world{t: t}
	r := w.run("probe", hangingUp(t), "--json")
	for _, key := range []string{"request", "response", "detection_bound_ms"} {
		if strings.Contains(r.out, `"`+key+`"`) {
			t.Errorf("%s: %s", key, r.out)
		}
	}
	if r.code != 0 || !strings.Contains(r.out, `"certificate": null`) {
		t.Errorf("exit %d: %s", r.code, r.all())
	}
}

// hangingUp is an address on loopback where plain text is hung up on, as by some TLS
// servers.
func hangingUp(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// TestProbeAddressEnds: a probe that waits ends with the program.
func TestProbeAddressEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	var out, errOut buffer
	code := Main(ctx, []string{"probe", "http://" + l.Addr().String() + "/", "--timeout", "1m"}, Streams{Out: &out, Err: &errOut})
	if code != exitFailed || !strings.Contains(errOut.String(), "interrupted") || out.String() != "" {
		t.Errorf("exit %d: %s%s", code, out.String(), errOut.String())
	}
}

// closedPort is an address on loopback where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
