package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"fairlead/router/route"
)

func stripping(path string) option {
	return func(e *route.Entrypoint) {
		e.Match.Path.Value = path
		e.Options.StripPrefix = true
	}
}

func setting(name string, value route.Secret) option {
	return func(e *route.Entrypoint) {
		e.Options.Headers = append(e.Options.Headers, route.HeaderRule{Name: name, Value: value, Direction: route.OnRequest})
	}
}

// TestAnswersOfOurOwn: text, a page for browsers, trailers-only for gRPC.
func TestAnswersOfOurOwn(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{closedAddress(t)}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
	r.start()
	for _, tt := range []struct {
		method, host, accept, kind string
		status                     int
		contentType, body, grpc    string
	}{
		{"GET", "no.test", "", "", 404, "text/plain; charset=utf-8", "404 Not Found\n", ""},
		{"GET", "no.test", "text/html,application/xhtml+xml", "", 404, "text/html; charset=utf-8", "<h1>404 Not Found</h1>", ""},
		{"HEAD", "no.test", "", "", 404, "text/plain; charset=utf-8", "", ""},
		{"GET", "app.test", "", "", 502, "text/plain; charset=utf-8", "502 Bad Gateway\n", ""},
		{"POST", "no.test", "", "application/grpc+proto", 404, "text/plain; charset=utf-8", "404 Not Found\n", ""},
		{"POST h2", "no.test", "", "application/grpc+proto", 200, "application/grpc", "", "12"},
		{"POST h2", "app.test", "", "application/grpc", 200, "application/grpc", "", "14"},
		{"GET h2", "app.test", "", "application/grpc", 502, "text/plain; charset=utf-8", "502 Bad Gateway\n", ""},
	} {
		method, two, _ := strings.Cut(tt.method, " ")
		req := r.request(method, tt.host, "/", nil)
		req.Header.Set("Accept", tt.accept)
		req.Header.Set("Content-Type", tt.kind)
		c := client(t)
		if two != "" {
			c = h2client(t)
		}
		res, body := r.doWith(c, req)
		if res.StatusCode != tt.status || res.Header.Get("Content-Type") != tt.contentType || !strings.Contains(body, tt.body) || tt.body == "" && body != "" {
			t.Errorf("%+v: %d %v %q", tt, res.StatusCode, res.Header, body)
		}
		if res.Header.Get("Grpc-Status") != tt.grpc || tt.grpc != "" && res.Header.Get("Grpc-Message") == "" {
			t.Errorf("%+v: %v", tt, res.Header)
		}
		if res.Header.Get("Proxy-Status") == "" || res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Date") == "" {
			t.Errorf("%+v: %v", tt, res.Header)
		}
	}
}

func TestEveryStatusHasItsWords(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 405, 408, 413, 429, 431, 500, 502, 503, 504} {
		if title, advice := statusText(status); title == "Error" || advice == "" || http.StatusText(status) == "" {
			t.Errorf("%d: %q %q", status, title, advice)
		}
	}
	if title, _ := statusText(418); title != "Error" {
		t.Errorf("%q", title)
	}
	for status, want := range map[int]string{400: "13", 401: "16", 403: "7", 404: "12", 431: "13", 429: "14", 503: "14"} {
		if got := grpcStatus(status); got != want {
			t.Errorf("%d: grpc-status %s, want %s", status, got, want)
		}
	}
}

// TestSecretsStayOut: neither answers nor logs show header or query values, and
// answers show nothing of what is behind the router.
func TestSecretsStayOut(t *testing.T) {
	const canary = "s3cr3t-canary"
	hangsUp := serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if s, err := readSeen(br); err == nil && strings.Contains(s.line, "/garbage") {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nSet-Cookie : "+canary+"\r\n\r\n")
		}
	})
	r := newRig(t)
	r.route("app.test", []string{hangsUp}, setting("X-Key", canary))
	r.route("down.test", []string{closedAddress(t)}, setting("X-Key", canary))
	r.start()
	for _, target := range []string{"app.test/", "app.test/garbage", "down.test/", "no.test/", "app.test/%zz"} {
		host, path, _ := strings.Cut(target, "/")
		c := r.dial()
		_, _ = io.WriteString(c, "GET /"+path+"?token="+canary+" HTTP/1.1\r\nHost: "+host+"\r\nAuthorization: Bearer "+canary+"\r\nConnection: close\r\n\r\n")
		all, err := io.ReadAll(c)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %v", target, err)
		}
		for _, word := range []string{canary, "127.0.0.1", hangsUp} {
			if strings.Contains(string(all), word) {
				t.Errorf("%s: the answer shows %q:\n%s", target, word, all)
			}
		}
	}
	if text := r.log.String(); strings.Contains(text, canary) {
		t.Errorf("the log shows the canary:\n%s", text)
	}
}

// TestBadResponses: a backend's framing is held to the rules of a client's. What
// net/http repairs instead is marked native; such a row fails once it is refused.
func TestBadResponses(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		reason    route.Reason
		native    bool
	}{
		{"no HTTP at all", "SSH-2.0-OpenSSH_9.2\r\n\r\n", route.ReasonBadResponse, false},
		{"lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", route.ReasonBadResponse, false},
		{"length that is no number", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", route.ReasonBadResponse, false},
		{"length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab", route.ReasonBadResponse, false},
		{"transfer coding unknown", "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", route.ReasonBadResponse, false},
		{"transfer coding in a list", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", route.ReasonBadResponse, false},
		{"space before a colon", "HTTP/1.1 200 OK\r\nX-A : b\r\nContent-Length: 0\r\n\r\n", route.ReasonBadResponse, false},
		{"name that is no token", "HTTP/1.1 200 OK\r\nX A: b\r\nContent-Length: 0\r\n\r\n", route.ReasonBadResponse, false},
		{"field without a colon", "HTTP/1.1 200 OK\r\nX-A\r\nContent-Length: 0\r\n\r\n", route.ReasonBadResponse, false},
		{"NUL in a value", "HTTP/1.1 200 OK\r\nX-A: a\x00b\r\nContent-Length: 0\r\n\r\n", route.ReasonBadResponse, false},
		{"CR in a value", "HTTP/1.1 200 OK\r\nX-A: a\rX-B: c\r\nContent-Length: 0\r\n\r\n", route.ReasonBadResponse, false},
		{"status that is no number", "HTTP/1.1 abc OK\r\n\r\n", route.ReasonBadResponse, false},
		{"status of two digits", "HTTP/1.1 20 OK\r\n\r\n", route.ReasonBadResponse, false},
		{"status zero", "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n", route.ReasonBadResponse, false},
		{"endless interim answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <"+strings.Repeat("x", 4000)+">\r\n\r\n", 100), route.ReasonBadResponse, false},
		{"head too large", "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 300<<10) + "\r\n\r\n", route.ReasonResponseTooLong, false},
		{"half a head", "HTTP/1.1 200 OK\r\nX-A: b\r\n", route.ReasonBackendClosed, false},
		{"nothing", "", route.ReasonBackendClosed, false},
		{"both lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", route.ReasonBadResponse, true},
		{"lengths that are equal", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab", route.ReasonBadResponse, true},
		{"obsolete folding", "HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\nContent-Length: 0\r\n\r\n", route.ReasonBadResponse, true},
		{"bare LF as line ends", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", route.ReasonBadResponse, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
				if _, err := readSeen(br); err == nil {
					_, _ = io.WriteString(c, tt.raw)
				}
			})})
			r.start()
			res, _ := r.get("app.test", "/")
			if !tt.native {
				wantReason(t, res, 502, tt.reason)
				if got := r.outcomes.all(); len(got) != 1 || got[0].Kind == "" || !got[0].Transport {
					t.Errorf("outcomes %+v", got)
				}
				return
			}
			if res.StatusCode != http.StatusOK {
				t.Errorf("status %d %v: net/http refuses it now, remove the native mark", res.StatusCode, res.Header)
			}
		})
	}
}

// TestUnsolicitedBytesSpoilAConnection: what comes on an idle connection is no
// answer to the next request. A request that takes the connection before the transport
// has looked at it is the known limit of net/http, so the test lets it look.
func TestUnsolicitedBytesSpoilAConnection(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveRaw(t, func(n int, c net.Conn, br *bufio.Reader) {
		for {
			if _, err := readSeen(br); err != nil {
				return
			}
			extra := ""
			if n == 0 {
				extra = "HTTP/1.1 200 OK\r\nX-Smuggled: yes\r\nContent-Length: 0\r\n\r\n"
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"+extra)
		}
	})})
	r.start()
	for i := range 5 {
		res, body := r.get("app.test", "/")
		if res.StatusCode != http.StatusOK || body != "ok" || res.Header.Get("X-Smuggled") != "" {
			t.Fatalf("%d %q %v", res.StatusCode, body, res.Header)
		}
		if i == 0 {
			up := placement(entry, 0).Upstream.(*upstream)
			eventually(t, "the spoilt connection is closed", func() bool {
				up.mu.Lock()
				defer up.mu.Unlock()
				return len(up.conns) == 0
			})
		}
	}
}

// TestLoginsTiedToAConnection: such a connection serves no second request.
func TestLoginsTiedToAConnection(t *testing.T) {
	for _, challenge := range []string{"NTLM", "Negotiate", "negotiate abc"} {
		r := newRig(t)
		address := serveRaw(t, func(n int, c net.Conn, br *bufio.Reader) {
			for {
				if _, err := readSeen(br); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: "+challenge+"\r\nX-Conn: "+string(rune('a'+n))+"\r\nContent-Length: 2\r\n\r\nno")
			}
		})
		r.route("app.test", []string{address})
		r.start()
		used := map[string]bool{}
		for range 4 {
			res, _ := r.get("app.test", "/")
			if n := res.Header.Get("X-Conn"); used[n] {
				t.Errorf("%s: connection %s is used again", challenge, n)
			} else {
				used[n] = true
			}
		}
	}
}

func TestTLSToBackends(t *testing.T) {
	address, roots := newTLSBackend(t)
	for _, tt := range []struct {
		name   string
		tls    route.BackendTLS
		status int
		said   string
	}{
		{"system trust", route.BackendTLS{}, 502, ""},
		{"named authority", route.BackendTLS{CA: "ours"}, 200, "name= http/1.1 HTTP/1.1"},
		{"named authority and server name", route.BackendTLS{CA: "ours", ServerName: "example.com"}, 200, "name=example.com http/1.1 HTTP/1.1"},
		{"another server name", route.BackendTLS{CA: "ours", ServerName: "other.test"}, 502, ""},
		{"not verified", route.BackendTLS{InsecureSkipVerify: true}, 200, "name= http/1.1 HTTP/1.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.CAs = map[string]*certPool{"ours": roots} })
			r.route("app.test", []string{"https://" + address}, func(e *route.Entrypoint) { e.Backends[0].TLS = tt.tls })
			r.start()
			res, _ := r.get("app.test", "/")
			if res.StatusCode != tt.status || res.Header.Get("X-Tls") != tt.said {
				t.Errorf("%d %q %v", res.StatusCode, res.Header.Get("X-Tls"), res.Header)
			}
			if tt.status == 502 {
				wantReason(t, res, 502, route.ReasonTLSFailed)
			}
		})
	}
}
