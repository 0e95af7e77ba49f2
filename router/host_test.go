package router

import (
	"strings"
	"testing"

	"fairlead/router/route"
)

func TestCanonicalHost(t *testing.T) {
	tests := []struct{ in, host, err string }{
		{in: "app.example.com", host: "app.example.com"},
		{in: "APP.Example.COM", host: "app.example.com"},
		{in: "app.example.com.", host: "app.example.com"},
		{in: "app.example.com.:8443", host: "app.example.com"},
		{in: "app.example.com:8443", host: "app.example.com"},
		{in: "app.example.com:", host: "app.example.com"},
		{in: "my_app.local", host: "my_app.local"},
		{in: "-a.example.com", host: "-a.example.com"},
		{in: "127.0.0.1:80", host: "127.0.0.1"},
		{in: "[::1]:8080", host: "[::1]"},
		{in: "[FD00:0::5]", host: "[fd00::5]"},
		{in: "[fd00::5]:", host: "[fd00::5]"},
		{in: "bücher.example", host: "xn--bcher-kva.example"},
		{in: "BÜCHER.example.:80", host: "xn--bcher-kva.example"},
		{in: "my_bücher.example", host: "xn--my_bcher-95a.example"},
		{in: "straße.de", host: "xn--strae-oqa.de"},
		{in: "XN--BCHER-KVA.example", host: "xn--bcher-kva.example"},

		{in: "", err: "empty"},
		{in: ".", err: "empty label"},
		{in: "..", err: "empty label"},
		{in: "a..", err: "empty label"},
		{in: ".example.com", err: "empty label"},
		{in: "a..b", err: "empty label"},
		{in: ":80", err: "empty label"},
		{in: "a:b", err: "not a number"},
		{in: "a:80:80", err: "not a number"},
		{in: "a:+80", err: "not a number"},
		{in: "a:0", err: "1-65535"},
		{in: "a:65536", err: "1-65535"},
		{in: "a:99999999999999999999", err: "1-65535"},
		{in: "::1", err: "not a number"},
		{in: "[::1", err: "closing"},
		{in: "[::1]x", err: "no port"},
		{in: "[::1]:x", err: "not a number"},
		{in: "[127.0.0.1]", err: "IPv6"},
		{in: "[fe80::1%25eth0]", err: "IPv6"},
		{in: "[fe80::1%eth0]", err: "IPv6"},
		{in: "[]", err: "IPv6"},
		{in: "a b", err: "not allowed"},
		{in: "user@host", err: "not allowed"},
		{in: "a/b", err: "not allowed"},
		{in: "*.example.com", err: "not allowed"},
		{in: "a%2e.example.com", err: "not allowed"},
		{in: "a\x00b", err: "not allowed"},
		{in: "\u200d.example", err: "internationalized"},
		{in: strings.Repeat("a", 64) + ".example", err: "63"},
		{in: strings.Repeat("abcdefg.", 40) + "com", err: "253"},
	}
	for _, tt := range tests {
		got, err := CanonicalHost(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || got != "" {
				t.Errorf("%q: %q, %v; want an error with %q", tt.in, got, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.host {
			t.Errorf("%q: %q, %v; want %q", tt.in, got, err, tt.host)
		}
	}
}

func TestCanonicalHostAllocatesNothingForCanonicalNames(t *testing.T) {
	for _, in := range []string{"app.example.com", "app.example.com:8443", "app.example.com.", "[fd00::5]:80", "127.0.0.1"} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := CanonicalHost(in); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", in, n)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, seed := range []string{"app.example.com:80", "[::1]:80", "BÜCHER.de.", "a..b", "xn--a", "*.x", "。", "ﬁ.example"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		host, err := CanonicalHost(in)
		if err != nil {
			return
		}
		again, err := CanonicalHost(host)
		if err != nil || again != host {
			t.Errorf("%q becomes %q and then %q, %v", in, host, again, err)
		}
		if host[0] == '[' {
			return
		}
		for i := range len(host) {
			if host[i] >= 0x80 || 'A' <= host[i] && host[i] <= 'Z' {
				t.Errorf("%q: %q is not canonical", in, host)
			}
		}
		if p, err := route.ParseHostPattern(host); err == nil && (p.Kind != route.HostExact || p.Text != host) {
			t.Errorf("%q: %q is not a name as the label parser knows it: %+v", in, host, p)
		}
	})
}
