package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// everyOption is an entrypoint whose options all differ from their defaults.
func everyOption(t *testing.T) *route.Entrypoint {
	t.Helper()
	status, err := route.ParseStatusSet("5xx,!501")
	if err != nil {
		t.Fatal(err)
	}
	o := route.DefaultOptions()
	o.RetryAttempts = 4
	o.Retry = route.Retry{On: route.RetryConnect | route.Retry503, Methods: "GET,POST", TryDuration: 5 * time.Second, TryInterval: 10 * time.Millisecond}
	o.Panic, o.PanicThreshold, o.NoBackendStatus, o.OnDown = route.PanicLast, 30, 502, route.OnDownClose
	o.Breaker = route.Breaker{Threshold: 0.25, MinRequests: 9, Cooldown: 1500 * time.Millisecond}
	o.Queue = route.Queue{Size: 7, Timeout: 50 * time.Millisecond}
	o.Sticky = route.Sticky{On: true, Cookie: "sid", Secure: true, SameSite: "None", MaxAge: time.Minute}
	o.Passive = route.Passive{
		Failures: 4, Window: 20 * time.Second, Status: status, Latency: 3 * time.Second, EjectionTime: 10 * time.Second,
		MaxEjectionTime: time.Minute, MaxEjectionPercent: 34, Recovery: route.RecoverTrial, Trials: 2, FeedsActive: true,
	}
	c := route.DefaultCheck()
	c.Type, c.Scheme, c.Port, c.Path, c.Host, c.SNI, c.Method = route.ProbeHTTP, route.SchemeHTTPS, 9000, "/health?token="+canary, "app.internal", "sni.internal", "OPTIONS"
	c.Headers = []route.CheckHeader{{Name: "Authorization", Value: canary}}
	c.FollowRedirects, c.BodyContains, c.BodyRegex = true, "ok", "^o"
	c.TLS.InsecureSkipVerify = true
	c.FastInterval, c.DownInterval, c.Jitter = time.Second, 3*time.Second, 0
	return &route.Entrypoint{
		ID: "http_app", Options: o,
		Backends: []route.Backend{{Host: "10.0.0.1", Port: 80, Check: &c}},
	}
}

// TestConfigShowsEveryOption, under the names of the file provider, and no secret.
func TestConfigShowsEveryOption(t *testing.T) {
	text, err := json.Marshal(newConfig(everyOption(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"retry":{"attempts":4,"on":["connect","503"],"methods":["GET","POST"],"try_duration_ms":5000,"try_interval_ms":10}`,
		`"circuit_breaker":{"threshold":0.25,"min_requests":9,"cooldown_secs":2,"cooldown_ms":1500}`,
		`"passive":{"failures":4,"window_ms":20000,"panic":false,"status":"5xx,!501","latency_ms":3000,"ejection_time_ms":10000,"max_ejection_time_ms":60000,"max_ejection_percent":34,"recovery":"trial","trials":2,"feeds_active":true}`,
		`"queue":{"size":7,"timeout_ms":50}`, `"panic":"last","panic_threshold":30,"no_backend_status":502,"on_down":"close"`,
		`"sticky_session":true,"sticky_cookie":{"name":"sid","secure":true,"same_site":"None","max_age_secs":60}`,
		`"path":"/health?token=***"`, `"headers":{"Authorization":"***"}`, `"host":"app.internal"`, `"port":9000`,
		`"type":"http","scheme":"https","sni":"sni.internal","method":"OPTIONS","follow_redirects":true,"body":{"contains":"ok","regex":"^o"},"grpc_service":null,"insecure_skip_verify":true,"fast_interval_ms":1000,"down_interval_ms":3000,"jitter_percent":0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(string(text), canary) {
		t.Errorf("a secret shows: %s", text)
	}
}

// TestConfigOfOtherProbes: what a kind of probe has no use for is null.
func TestConfigOfOtherProbes(t *testing.T) {
	for kind, want := range map[route.ProbeType]string{
		route.ProbeTCP:       `"path":null,"status":null,` + `"scheme":null,"sni":null,"method":null,`,
		route.ProbeTLS:       `"path":null,"status":null,` + `"scheme":null,"sni":"sni.internal","method":null,`,
		route.ProbeGRPC:      `"path":null,"status":null,` + `"scheme":"http","sni":null,"method":null,`,
		route.ProbeWebSocket: `"path":"/live","status":null,` + `"scheme":"http","sni":null,"method":null,`,
	} {
		c := route.DefaultCheck()
		c.Type, c.Port = kind, 80
		switch kind {
		case route.ProbeTLS:
			c.SNI = "sni.internal"
		case route.ProbeWebSocket:
			c.Path = "/live"
			fallthrough
		case route.ProbeGRPC:
			c.Scheme, c.Host = route.SchemeHTTP, "10.0.0.1"
		case route.ProbeTCP, route.ProbeHTTP:
		}
		e := &route.Entrypoint{Options: route.DefaultOptions(), Backends: []route.Backend{{Host: "10.0.0.1", Port: 80, Check: &c}}}
		text, err := json.Marshal(newConfig(e))
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(strings.Replace(want, `,"scheme"`, `|"scheme"`, 1), "|") {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s: no %s in %s", kind, part, text)
			}
		}
		if !strings.Contains(string(text), `"host":null`) || !strings.Contains(string(text), `"passive":null`) || !strings.Contains(string(text), `"circuit_breaker":null`) ||
			!strings.Contains(string(text), `"sticky_cookie":null`) || !strings.Contains(string(text), `"body":null`) {
			t.Errorf("%s: %s", kind, text)
		}
	}
}
