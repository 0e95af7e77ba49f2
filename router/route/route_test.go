package route

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestParseHostPattern(t *testing.T) {
	tests := []struct {
		in   string
		kind HostKind
		text string
		err  string
	}{
		{in: "App.Example.com", kind: HostExact, text: "app.example.com"},
		{in: "app.example.com.", kind: HostExact, text: "app.example.com"},
		{in: "my_app.local", kind: HostExact, text: "my_app.local"},
		{in: "localhost", kind: HostExact, text: "localhost"},
		{in: "*.example.com", kind: HostWildcard, text: "*.example.com"},
		{in: "**.example.com", kind: HostWildcard, text: "**.example.com"},
		{in: "*", kind: HostAny, text: "*"},
		{in: "/cdn[0-9]+/.example.com", kind: HostRegex, text: "/cdn[0-9]+/.example.com"},
		{in: "/a.b/.example.com", kind: HostRegex, text: "/a.b/.example.com"},
		{in: "/a/", kind: HostRegex, text: "/a/"},
		{in: "", err: "empty host"},
		{in: "a..b", err: "empty label"},
		{in: "a.", kind: HostExact, text: "a"},
		{in: "a./b/..", err: "empty label"},
		{in: "**", err: "stands alone"},
		{in: "a.*.example.com", err: "stands alone"},
		{in: "a*.example.com", err: "stands alone"},
		{in: "-a.example.com", err: "hyphen"},
		{in: "a b.example.com", err: "not allowed"},
		{in: "app.example.com:80", err: "not allowed"},
		{in: "/[/.example.com", err: "regular expression"},
		{in: "//.example.com", err: "empty regular expression"},
		{in: "/a.example.com", err: "closing slash"},
		{in: "*./a/.example.com", err: "cannot be combined"},
		{in: strings.Repeat("a", 64) + ".example.com", err: "63"},
		{in: strings.Repeat("abcdefg.", 40) + "com", err: "253"},
	}
	for _, tt := range tests {
		got, err := ParseHostPattern(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want one with %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || got.Kind != tt.kind || got.String() != tt.text {
			t.Errorf("%q: %+v, %v; want %v %q", tt.in, got, err, tt.kind, tt.text)
		}
	}
}

func TestWildcardSuffix(t *testing.T) {
	for in, want := range map[string]string{"*.a.b": ".a.b", "**.a.b": ".a.b", "a.b": ""} {
		h, err := ParseHostPattern(in)
		if err != nil {
			t.Fatal(err)
		}
		if h.Suffix() != want || h.Deep() != strings.HasPrefix(in, "**") {
			t.Errorf("%s: suffix %q deep %v", in, h.Suffix(), h.Deep())
		}
	}
}

func TestParseStatusSet(t *testing.T) {
	tests := []struct {
		in      string
		yes, no []int
		err     string
	}{
		{in: "200", yes: []int{200}, no: []int{201, 199}},
		{in: "2xx", yes: []int{200, 299}, no: []int{300, 199}},
		{in: "200-299,401,!204", yes: []int{200, 299, 401}, no: []int{204, 300}},
		{in: "!204, 2XX", yes: []int{200}, no: []int{204}},
		{in: "!500-599", yes: []int{100, 499}, no: []int{500, 599}},
		{in: "", err: "not a status"},
		{in: "20", err: "not a status"},
		{in: "+20", err: "not a status"},
		{in: "600", err: "not a status"},
		{in: "6xx", err: "not a status"},
		{in: "299-200", err: "ends before"},
		{in: "200-x", err: "not a status"},
		{in: "200,!2xx", err: "no status at all"},
		{in: "!100-599", err: "no status at all"},
	}
	for _, tt := range tests {
		s, err := ParseStatusSet(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want one with %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
		for _, code := range tt.yes {
			if !s.Contains(code) {
				t.Errorf("%q should contain %d", tt.in, code)
			}
		}
		for _, code := range append(tt.no, 0, -1, 99, 600, 1000) {
			if s.Contains(code) {
				t.Errorf("%q should not contain %d", tt.in, code)
			}
		}
	}
	if got := DefaultStatusSet().String(); got != "2xx,3xx" {
		t.Errorf("default is %q", got)
	}
}

func FuzzStatusSet(f *testing.F) {
	for _, s := range []string{"200", "2xx,3xx", "200-299,401,!204", "!5xx", "x", ",", "1-2-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := ParseStatusSet(in)
		if err != nil {
			return
		}
		again, err := ParseStatusSet(s.String())
		if err != nil || again != s {
			t.Fatalf("%q: its own text %q reads back as %v, %v", in, s.String(), again, err)
		}
	})
}

func FuzzHostPattern(f *testing.F) {
	for _, s := range []string{"a.b", "*.a.b", "**.a", "*", "/x+/.a", "A.", "a..b", "/(/.a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		h, err := ParseHostPattern(in)
		if err != nil {
			return
		}
		again, err := ParseHostPattern(h.Text)
		if err != nil || again != h {
			t.Fatalf("%q: its own text %q reads back as %+v, %v", in, h.Text, again, err)
		}
	})
}

func TestSecretNeverShows(t *testing.T) {
	const canary = "s3cr3t-canary"
	rule := HeaderRule{Name: "Authorization", Value: canary}
	encoded, err := json.Marshal(map[string]any{"rule": rule, "s": Secret(canary)})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := Secret(canary).MarshalText()
	all := fmt.Sprintf("%v %+v %#v %s %q %x %s %s", rule, rule, rule, rule, Secret(canary), Secret(canary), encoded, text)
	if strings.Contains(all, canary) || strings.Contains(all, fmt.Sprintf("%x", canary)) {
		t.Errorf("a secret shows: %s", all)
	}
	if Secret(canary).Reveal() != canary {
		t.Error("Reveal does not return the value")
	}
}

func TestBlockedTarget(t *testing.T) {
	blocked := []string{"169.254.169.254", "::ffff:169.254.169.254", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
		"fe80::1", "fe80::1%eth0", "255.255.255.255", "fd00:ec2::254", "127.0.0.1", "::1", "::ffff:127.0.0.1"}
	for _, a := range blocked {
		if BlockedTarget(netip.MustParseAddr(a), false) == "" {
			t.Errorf("%s is not blocked", a)
		}
	}
	for _, a := range []string{"172.17.0.2", "fd00::5", "8.8.8.8"} {
		if why := BlockedTarget(netip.MustParseAddr(a), false); why != "" {
			t.Errorf("%s is blocked: %s", a, why)
		}
	}
	if why := BlockedTarget(netip.MustParseAddr("127.0.0.1"), true); why != "" {
		t.Errorf("loopback is blocked though allowed: %s", why)
	}
	if BlockedTarget(netip.Addr{}, true) == "" {
		t.Error("the zero address is not blocked")
	}
}

func TestReasonInfo(t *testing.T) {
	for r, want := range map[Reason]ReasonInfo{
		ReasonNone:            {},
		ReasonNoRoute:         {"destination_not_found", 404, false},
		ReasonRetained:        {"destination_unavailable", 503, true},
		ReasonMisconfigured:   {"proxy_configuration_error", 503, false},
		ReasonConnectRefused:  {"connection_refused", 502, false},
		ReasonConnectTimeout:  {"connection_timeout", 504, false},
		ReasonTLSFailed:       {"tls_protocol_error", 502, false},
		ReasonBackendTimeout:  {"http_response_timeout", 504, false},
		ReasonBackendClosed:   {"connection_terminated", 502, false},
		ReasonResponseTooLong: {"http_protocol_error", 502, false},
		ReasonBadRequest:      {"http_request_error", 400, false},
		ReasonHeadersTooLarge: {"http_request_error", 431, false},
		ReasonBodyTooLarge:    {"http_request_error", 413, false},
		ReasonClientTimeout:   {"http_request_error", 408, false},
		ReasonDenied:          {"http_request_denied", 403, false},
		ReasonAuthRequired:    {"http_request_denied", 401, false},
		ReasonRateLimited:     {"http_request_denied", 429, true},
		ReasonTooManyInFlight: {"http_request_denied", 503, true},
		ReasonClientGone:      {"", 499, false},
		"unheard_of":          {"proxy_internal_error", 502, false},
	} {
		if got := r.Info(); got != want {
			t.Errorf("%s: %+v, want %+v", r, got, want)
		}
	}
}

func TestMatchKeyTellsMatchersApart(t *testing.T) {
	host := HostPattern{Kind: HostExact, Text: "a.b"}
	matches := []Match{
		{},
		{Hosts: []HostPattern{host}},
		{Hosts: []HostPattern{host}, Path: PathRule{Kind: PathPrefix, Value: "/a"}},
		{Hosts: []HostPattern{host}, Path: PathRule{Kind: PathExact, Value: "/a"}},
		{Hosts: []HostPattern{host}, Path: PathRule{Kind: PathRegex, Value: "/a"}},
		{Methods: []string{"GET"}},
		{Headers: []KeyValue{{Key: "k", Value: "v"}}},
		{Query: []KeyValue{{Key: "k", Value: "v"}}},
		{Query: []KeyValue{{Key: "k", Bare: true}}},
		{ClientIPs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		{ClientNobody: true},
	}
	seen := map[string]int{}
	for i, m := range matches {
		if j, dup := seen[m.Key()]; dup {
			t.Errorf("matchers %d and %d share a key", i, j)
		}
		seen[m.Key()] = i
	}
	full := Match{Methods: []string{"GET"}, Headers: []KeyValue{{}}, Query: []KeyValue{{}}, ClientNobody: true}
	if full.Conditions() != 4 || (Match{}).Conditions() != 0 {
		t.Error("conditions are counted wrongly")
	}
}

func TestEntrypointCanServe(t *testing.T) {
	for state, want := range map[ProviderState]bool{
		ProviderPresent: true, ProviderStarting: true, ProviderUnhealthy: false, ProviderLeaving: false,
	} {
		e := Entrypoint{Backends: []Backend{{Provider: state}}}
		if e.CanServe() != want {
			t.Errorf("%s: CanServe is %v", state, !want)
		}
	}
	if (&Entrypoint{}).CanServe() {
		t.Error("an entrypoint without backends can serve")
	}
}

func TestRotationCell(t *testing.T) {
	var cell RotationCell
	if got := cell.Load(); got == nil || got.Reason != ReasonInitializing {
		t.Fatalf("an empty cell holds %+v", got)
	}
	p := &Placement{Entrypoint: "http_a", Backend: Backend{Incarnation: "i"}}
	if p.Key() != (PlacementKey{"http_a", "i"}) {
		t.Errorf("key %+v", p.Key())
	}
	cell.Store(NewRotation(7, TierVerified, []Member{{Placement: p, Weight: 1}, {Placement: p, Weight: 3}}))
	if r := cell.Load(); r.Total != 4 || r.Uniform || r.Rev != 7 {
		t.Errorf("rotation %+v", r)
	}
	now := time.Unix(1000, 0)
	for wait, want := range map[time.Duration]int{-time.Second: 1, 200 * time.Millisecond: 1, 4100 * time.Millisecond: 5, time.Hour: 30} {
		cell.SetRetryAt(now.Add(wait))
		if got := cell.RetryAfter(now); got != want {
			t.Errorf("wait %v: Retry-After %d, want %d", wait, got, want)
		}
	}
	if got := new(RotationCell).RetryAfter(now); got != 1 {
		t.Errorf("without a plan: %d", got)
	}
}

func TestSmallWords(t *testing.T) {
	for code, want := range map[string]Severity{"E001": SeverityError, "W013": SeverityWarn, "I002": SeverityInfo, "": SeverityInfo} {
		if got := Diagnose(code, "do it", "n=%d", 1); got.Severity != want || got.Message != "n=1" || got.Hint != "do it" {
			t.Errorf("%q: %+v", code, got)
		}
	}
	for k, want := range map[PathKind]string{PathExact: "Exact", PathRegex: "Regex", PathPrefix: "Prefix"} {
		if k.String() != want {
			t.Errorf("kind %d is %q", k, k)
		}
	}
	if SchemeHTTPS.DefaultPort() != 443 || SchemeH2C.DefaultPort() != 80 {
		t.Error("default ports")
	}
	for _, b := range []Backend{{Host: "fd00::5", Port: 80}, {Host: "172.18.0.4", Port: 8080}, {Host: "api.internal", Port: 65535}} {
		if got := string(b.AppendAddress([]byte("at "))); got != "at "+b.Address() {
			t.Errorf("appended %q, address %s", got, b.Address())
		}
	}
	if b := (&Backend{Host: "fd00::5", Port: 80}); b.Address() != "[fd00::5]:80" {
		t.Errorf("address %s", b.Address())
	}
	if o := DefaultOptions(); o.RetryAttempts != 2 || o.Panic != PanicAll || o.LoadBalancer != RoundRobin {
		t.Errorf("options %+v", o)
	}
	if c := DefaultCheck(); c.Interval != 10*time.Second || c.UnhealthyThreshold != 1 || c.Type != ProbeTCP {
		t.Errorf("check %+v", c)
	}
}
