package label

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// FuzzParse feeds labels to the parser and its result to Group. Labels are lines of
// key=value.
func FuzzParse(f *testing.F) {
	f.Add("sozune.enable=true\nsozune.http.web.host=a.b,*.c\nsozune.http.web.path=/x")
	f.Add("sozune.enable=1\nsozune.http.Web.host=a\nsozune.http.web.auth.basci=x:y\nsozune.http..port=1")
	f.Add("sozune.enable=on\nsozune.tcp.db.entrypoint=postgres\nsozune.udp.x.port=\x00")
	f.Add("sozune.enable=true\nsozune.http.a.host=a\nsozune.http.a.healthCheck.type=grpc\nsozune.http.a.healthCheck.body.regex=(\nsozune.http.a.passive.failures=5\nsozune.http.a.passive.recovery=probe")
	f.Add("sozune.enable=true\nsozune.http.a.host=a\nsozune.http.a.retry.on=connect,5\nsozune.http.a.stickySession=1\nsozune.http.a.stickySession.cookie=a;b\nsozune.http.a.circuitBreaker.threshold=NaN")
	f.Add("sozune.enable=true\nsozune.http.a.host=/[a-z]{1,3}/.b\nsozune.http.a.healthCheck.path=//x?y#z\nsozune.http.a.healthCheck.status=!2xx")
	f.Fuzz(func(t *testing.T, text string) {
		labels := map[string]string{"sozune.enable": "true"}
		for line := range strings.Lines(text) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			labels[key] = value
		}
		p := parseLabels(t, labels)
		if again := parseLabels(t, labels); encode(t, p.Diagnostics) != encode(t, again.Diagnostics) {
			t.Fatal("two readings of the same labels differ")
		}
		for _, d := range p.Diagnostics {
			if d.Label != "" {
				checkDiagnostic(t, text, d)
			}
		}
		for _, d := range p.Declarations {
			checkDeclaration(t, d)
		}
		in := Input{Candidate: Candidate{ID: "c1", Provider: "docker", Created: epoch}, Parsed: p, Presence: Present}
		for range p.Declarations {
			in.Endpoints = append(in.Endpoints, Endpoint{Host: "172.18.0.2", Port: 80})
		}
		checkInvariants(t, []Input{in}, Group([]Input{in}, nil))
	})
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkDeclaration holds what is true of every declaration that may be routed.
func checkDeclaration(t *testing.T, d Declaration) {
	t.Helper()
	if d.Refused != "" {
		if _, ok := Explain(d.Refused); !ok {
			t.Errorf("refused with %q", d.Refused)
		}
		return
	}
	m, o, b := d.Match, d.Options, d.Backend
	switch {
	case d.Protocol != route.HTTP, len(m.Hosts) == 0, badService(d.Service) != "":
		t.Errorf("not routable: %s %q %v", d.Protocol, d.Service, m.Hosts)
	case m.Path.Kind != route.PathRegex && !strings.HasPrefix(m.Path.Value, "/"):
		t.Errorf("path %+v", m.Path)
	case m.ClientNobody && len(m.ClientIPs) > 0:
		t.Error("nobody and somebody")
	case o.RetryAttempts < 1, o.BackendTimeout < 0, b.Weight < 0, b.Weight > 65535, b.DialTimeout <= 0:
		t.Errorf("options %+v, backend %+v", o, b)
	case !slices.Contains([]route.Scheme{route.SchemeHTTP, route.SchemeHTTPS, route.SchemeH2C}, b.Scheme):
		t.Errorf("scheme %q", b.Scheme)
	}
	for _, h := range o.Headers {
		if strings.ContainsAny(h.Name+h.Value.Reveal(), "\r\n\x00") {
			t.Errorf("header %q", h.Name)
		}
	}
	checkResilience(t, &o, &b)
	if d.Check != nil {
		checkCheck(t, d.Check)
	}
}

// checkResilience holds the ranges that the health engine and the proxy rely on.
func checkResilience(t *testing.T, o *route.Options, b *BackendOptions) {
	t.Helper()
	p, k := &o.Passive, &o.Sticky
	switch {
	case p.Failures < 0, p.Window < 0, p.Latency < 0, p.EjectionTime <= 0, p.On() && p.MaxEjectionTime < p.EjectionTime,
		p.MaxEjectionPercent < 1, p.MaxEjectionPercent > 100, p.Trials < 1, p.Recovery == "":
		t.Errorf("passive %+v", p)
	case o.Breaker.Threshold < 0, o.Breaker.Threshold > 1, o.Breaker.Threshold != o.Breaker.Threshold, o.Breaker.MinRequests < 1, o.Breaker.Cooldown <= 0:
		t.Errorf("breaker %+v", o.Breaker)
	case o.Retry.On == 0, o.Retry.TryDuration < 0, o.Retry.TryInterval < 0, strings.ContainsAny(o.Retry.Methods, " \r\n"):
		t.Errorf("retry %+v", o.Retry)
	case k.SameSite != "Lax" && k.SameSite != "Strict" && k.SameSite != "None", k.MaxAge < 0, k.Cookie != "" && !isToken(k.Cookie):
		t.Errorf("sticky %+v", k)
	case o.NoBackendStatus < 400, o.NoBackendStatus > 599, o.PanicThreshold < 0, o.PanicThreshold > 100, o.OnDown == "", o.Panic == "", o.Queue.Size < 0, o.Queue.Timeout < 0:
		t.Errorf("options %+v", o)
	case b.MaxConnections < 0, b.SlowStart < 0, b.SlowStartMin < 1, b.SlowStartMin > 100:
		t.Errorf("backend %+v", b)
	}
}

func checkCheck(t *testing.T, c *route.Check) {
	t.Helper()
	request := c.Path + c.Host
	for _, h := range c.Headers {
		request += h.Name + h.Value.Reveal()
	}
	switch {
	case strings.ContainsAny(request, "\r\n\x00") || strings.ContainsAny(c.Path+c.Host, " #"):
		t.Errorf("a probe could be split: %q %q", c.Path, c.Host)
	case (c.Path != "") != (c.Type == route.ProbeHTTP || c.Type == route.ProbeWebSocket), c.Path != "" && (c.Path[0] != '/' || strings.HasPrefix(c.Path, "//")):
		t.Errorf("%s probe with path %q", c.Type, c.Path)
	case strings.ContainsAny(c.SNI+c.GRPCService, " \r\n\x00/") && c.GRPCService == "", strings.ContainsAny(c.GRPCService, " \r\n\x00"), c.GRPCService != "" && c.Type != route.ProbeGRPC:
		t.Errorf("%s probe with SNI %q, service %q", c.Type, c.SNI, c.GRPCService)
	case c.Method == "HEAD" && c.BodyContains+c.BodyRegex != "", c.Type != route.ProbeHTTP && (c.BodyContains+c.BodyRegex != "" || c.FollowRedirects || c.Method != "GET"):
		t.Errorf("%s probe asks for a body: %+v", c.Type, c)
	case c.FastInterval < 0, c.FastInterval > c.Interval, c.DownInterval < minInterval, c.Jitter < 0, c.Jitter > 50:
		t.Errorf("pace %+v", c)
	case c.Interval < minInterval, c.Timeout < 10*time.Millisecond, c.UnhealthyThreshold < 1, c.HealthyThreshold < 1:
		t.Errorf("pace %+v", c)
	}
}

// FuzzHosts: what is accepted is canonical, and reading it again changes nothing.
func FuzzHosts(f *testing.F) {
	for _, s := range []string{"a.b", "*.Ä.example,c", "/x{1,2}/.b, d", "https://a:80/x", "a。b", "xn--a.b", "**.a", "/(?i:A)/.b", "/A/.b", "u@h", "[::1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, entry := range splitHosts(text) {
			h, err := parseHost(entry)
			if err != nil {
				continue
			}
			again, err := parseHost(h.Text)
			if err != nil || h.Kind != route.HostRegex && again != h {
				t.Fatalf("%q is read as %+v, and that as %+v, %v", entry, h, again, err)
			}
			if h.Kind != route.HostRegex && strings.ContainsFunc(h.Text, func(r rune) bool { return r > 'z' || 'A' <= r && r <= 'Z' || r <= ' ' }) {
				t.Fatalf("%q is read as %q", entry, h.Text)
			}
		}
	})
}

// FuzzStatus: a status label never leaves a set that accepts nothing.
func FuzzStatus(f *testing.F) {
	for _, s := range []string{"200", "2xx,!204", "!2xx,3xx", "!100-599", "200-100", ",", "none", "２００"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, _ := web(t, map[string]string{"healthCheck.path": "/", "healthCheck.status": text, "passive.failures": "1", "passive.status": text})
		if p := d.Options.Passive.Status; p.String() == "" && fold(strings.TrimSpace(text)) != "none" {
			t.Fatalf("%q counts no status as a failure", text)
		}
		accepted := 0
		for code := 100; code < 600; code++ {
			if d.Check.Status.Contains(code) {
				accepted++
			}
		}
		if accepted == 0 {
			t.Fatalf("%q accepts no status", text)
		}
	})
}
