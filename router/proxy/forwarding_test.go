package proxy

import (
	"net/netip"
	"strings"
	"testing"

	"fairlead/router/exchange"
)

// sent collects what goes to the backend.
func sent(x *exchange.Exchange) map[string]string {
	out := map[string]string{}
	x.Outgoing(func(name, value string) {
		if have, ok := out[name]; ok {
			value = have + " | " + value
		}
		out[name] = value
	})
	return out
}

func TestForwardingHeaders(t *testing.T) {
	stranger := []string{"X-Forwarded-For", "1.2.3.4", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil", "X-Forwarded-Port", "1",
		"X-Forwarded-Prefix", "/evil", "X-Real-Ip", "1.2.3.4", "Forwarded", "for=1.2.3.4"}
	for _, tt := range []struct {
		name    string
		peer    string
		trusted string
		secure  bool
		host    string
		fields  []string
		client  string
		want    map[string]string
	}{
		{
			name: "stranger", peer: "192.0.2.1:1", host: "app.test:8080", fields: stranger, client: "192.0.2.1",
			want: map[string]string{
				"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "app.test:8080", "X-Forwarded-Port": "8080",
				"X-Forwarded-Prefix": "", "X-Real-Ip": "192.0.2.1", "Forwarded": `for=192.0.2.1;host="app.test:8080";proto=http`,
			},
		},
		{
			name: "stranger over TLS on IPv6", peer: "[2001:db8::1]:1", secure: true, host: "[2001:db8::2]", client: "2001:db8::1",
			want: map[string]string{
				"X-Forwarded-For": "2001:db8::1", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "443",
				"Forwarded": `for="[2001:db8::1]";host="[2001:db8::2]";proto=https`,
			},
		},
		{
			name: "mapped peer", peer: "[::ffff:192.0.2.1]:1", host: "[::1]:81", client: "192.0.2.1",
			want: map[string]string{"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Port": "81"},
		},
		{
			name: "trusted proxy", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "app.test", client: "1.2.3.4", fields: stranger,
			want: map[string]string{
				"X-Forwarded-For": "1.2.3.4, 10.0.0.1", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil", "X-Forwarded-Port": "1",
				"X-Forwarded-Prefix": "/evil", "X-Real-Ip": "1.2.3.4", "Forwarded": `for=1.2.3.4, for=10.0.0.1;host="app.test";proto=http`,
			},
		},
		{
			name: "trusted TLS proxy", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "app.test", client: "203.0.113.7",
			fields: []string{"X-Forwarded-For", "203.0.113.7", "X-Forwarded-Proto", "https"},
			want: map[string]string{
				"X-Forwarded-Proto": "https", "X-Forwarded-Port": "443", "X-Forwarded-Host": "app.test",
				"Forwarded": `for=203.0.113.7;host="app.test";proto=https`,
			},
		},
		{
			name: "trusted proxy of secure WebSockets on IPv6", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "inner.test:8080", client: "2001:db8::9",
			fields: []string{"X-Forwarded-For", "2001:db8::9", "X-Forwarded-Proto", "wss, http", "X-Forwarded-Host", "app.test"},
			want: map[string]string{
				"X-Forwarded-Proto": "wss, http", "X-Forwarded-Port": "443", "X-Forwarded-Host": "app.test",
				"Forwarded": `for="[2001:db8::9]";host="app.test";proto=wss`,
			},
		},
		{
			name: "trusted proxy with a host and port of its own", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "app.test", client: "10.0.0.1",
			fields: []string{"X-Forwarded-Host", "app.test:8443, inner.test"},
			want: map[string]string{
				"X-Forwarded-Proto": "http", "X-Forwarded-Port": "8443", "Forwarded": `for=10.0.0.1;host="app.test:8443";proto=http`,
			},
		},
		{
			name: "trusted proxy with words that do not fit into Forwarded", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "app.test", client: "10.0.0.1",
			fields: []string{"X-Forwarded-Host", `a";for="1.2.3.4`, "X-Forwarded-Proto", "https;for=1.2.3.4"},
			want:   map[string]string{"X-Forwarded-Port": "80", "Forwarded": `for=10.0.0.1;host="app.test";proto=http`},
		},
		{
			name: "trusted chain with a spoofed beginning", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "app.test", client: "198.51.100.7",
			fields: []string{"X-Forwarded-For", "1.2.3.4, 198.51.100.7", "X-Forwarded-For", "10.0.0.2"},
			want:   map[string]string{"X-Forwarded-For": "1.2.3.4, 198.51.100.7, 10.0.0.2, 10.0.0.1", "X-Real-Ip": "198.51.100.7", "X-Forwarded-Proto": "http"},
		},
		{
			name: "trusted all the way", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "app.test", client: "10.0.0.3",
			fields: []string{"X-Forwarded-For", "10.0.0.3, 10.0.0.2"},
			want:   map[string]string{"X-Real-Ip": "10.0.0.3"},
		},
		{
			name: "hops with ports and brackets", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "app.test", client: "2001:db8::9",
			fields: []string{"X-Forwarded-For", "[2001:db8::9]:4711, [::ffff:10.0.0.2], 10.0.0.4:80"},
		},
		{
			name: "unreadable hop", peer: "10.0.0.1:1", trusted: "10.0.0.0/8", host: "app.test", client: "10.0.0.2",
			fields: []string{"X-Forwarded-For", "1.2.3.4, unknown, 10.0.0.2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{}
			if tt.trusted != "" {
				cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(tt.trusted)}
			}
			x := exchangeFor(t, tt.host, "/", tt.fields...)
			x.Peer, x.Secure = netip.MustParseAddrPort(tt.peer), tt.secure
			p := New(cfg)
			p.setClient(x)
			p.setForwarding(x)
			if x.Client.String() != tt.client {
				t.Errorf("client %s, want %s", x.Client, tt.client)
			}
			got := sent(x)
			for name, want := range tt.want {
				if got[name] != want {
					t.Errorf("%s: %q, want %q", name, got[name], want)
				}
			}
		})
	}
}

// TestTrustedProxyOverASocket: from the socket to the backend, with a prefix that
// the proxy before us stripped.
func TestTrustedProxyOverASocket(t *testing.T) {
	backend := &recorder{}
	r := newRig(t, func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	address := serveRaw(t, backend.serve)
	r.route("app.test", []string{address}, stripping("/api"), setting("X-Forwarded-Host", "fixed.test"))
	r.start()
	req := r.request("GET", "app.test", "/api/x", nil)
	req.Header.Set("X-Forwarded-For", "203.0.113.9")
	req.Header.Set("X-Forwarded-Prefix", "/outer")
	req.Header.Set("X-Forwarded-Proto", "https")
	r.do(req)
	got := backend.take()[0]
	for name, want := range map[string]string{
		"X-Forwarded-For": "203.0.113.9, 127.0.0.1", "X-Forwarded-Prefix": "/outer/api", "X-Forwarded-Proto": "https", "X-Real-Ip": "203.0.113.9",
		"X-Forwarded-Host": "fixed.test", // a rule of the user wins over what we would set
	} {
		if v := strings.Join(got.values(name), " | "); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if got.line != "GET /x HTTP/1.1" {
		t.Errorf("%q", got.line)
	}
}
