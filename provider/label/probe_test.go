package label

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/router/route"
)

// TestHealthKeys shows what each label about failing backends does.
func TestHealthKeys(t *testing.T) {
	check := func(f func(*route.Check) any) func(Declaration) any {
		return func(d Declaration) any { return f(d.Check) }
	}
	pace := check(func(c *route.Check) any {
		return fmt.Sprint(c.Interval, c.FastInterval, c.DownInterval, c.Timeout, c.Jitter)
	})
	kind := check(func(c *route.Check) any { return fmt.Sprint(c.Type, " ", c.Path) })
	tests := []struct {
		keys keys
		get  func(Declaration) any
		want any
	}{
		{keys{}, pace, "10s 0s 10s 5s 10"},
		{keys{"healthCheck.interval": "20s", "healthCheck.fastInterval": "1s", "healthCheck.downInterval": "30s", "healthCheck.jitter": "0"}, pace, "20s 1s 30s 5s 0"},
		{keys{"healthCheck.interval": "2s", "healthCheck.fastInterval": "3s", "healthCheck.downInterval": "x"}, pace, "2s 0s 2s 2s 10"},
		{keys{}, kind, "tcp "},
		{keys{"healthCheck.path": "/h"}, kind, "http /h"},
		{keys{"healthCheck.type": "http"}, kind, "http /"},
		{keys{"healthCheck.type": "http", "healthCheck.path": "//h"}, kind, "http /"},
		{keys{"healthCheck.type": "websocket"}, kind, "websocket /"},
		{keys{"healthCheck.type": "websocket", "healthCheck.path": "/live"}, kind, "websocket /live"},
		{keys{"healthCheck.type": "tcp", "healthCheck.path": "/h"}, kind, "tcp "},
		{keys{"healthCheck.type": "tls", "healthCheck.path": "/h"}, kind, "tls "},
		{keys{"healthCheck.type": "grpc", "healthCheck.path": "/h"}, kind, "grpc "},
		{keys{"healthCheck.type": "nonsense", "healthCheck.path": "/h"}, kind, "http /h"},
		{keys{"healthCheck.type": "grpc", "healthCheck.grpcService": "shop.Cart"}, check(func(c *route.Check) any { return c.GRPCService }), "shop.Cart"},
		{keys{"healthCheck.path": "/", "healthCheck.grpcService": "shop.Cart"}, check(func(c *route.Check) any { return c.GRPCService }), ""},
		{
			keys{"healthCheck.path": "/", "healthCheck.method": "options", "healthCheck.followRedirects": "on", "healthCheck.body.contains": "a, b", "healthCheck.body.regex": "^[ab]"},
			check(func(c *route.Check) any {
				return fmt.Sprint(c.Method, c.FollowRedirects, c.BodyContains, c.BodyRegex)
			}), "OPTIONStruea, b^[ab]",
		},
		{keys{"healthCheck.path": "/", "healthCheck.method": "HEAD", "healthCheck.body.contains": "a"}, check(func(c *route.Check) any { return c.Method + c.BodyContains }), "HEAD"},
		{keys{"healthCheck.type": "tls", "healthCheck.sni": "[::1]"}, check(func(c *route.Check) any { return c.SNI }), "::1"},
		{keys{"healthCheck.path": "/", "healthCheck.sni": "a.b"}, check(func(c *route.Check) any { return c.SNI }), ""},
		{
			keys{"retry.attempts": "3", "retry.on": "503, timeout,CONNECT", "retry.methods": "post, GET,get", "retry.tryDuration": "9s", "retry.tryInterval": "0"},
			func(d Declaration) any { return d.Options.Retry },
			route.Retry{On: route.RetryConnect | route.RetryTimeout | route.Retry503, Methods: "GET,POST", TryDuration: 9 * time.Second},
		},
		{keys{"retry.methods": "Idempotent"}, func(d Declaration) any { return d.Options.Retry }, route.DefaultRetry()},
		{keys{"circuitBreaker.threshold": "0.5", "circuitBreaker.minRequests": "7", "circuitBreaker.cooldown": "3"}, func(d Declaration) any { return d.Options.Breaker }, route.Breaker{Threshold: 0.5, MinRequests: 7, Cooldown: 3 * time.Second}},
		{keys{"panicThreshold": "40", "noBackendStatus": "502", "onDown": "KEEP"}, func(d Declaration) any {
			return fmt.Sprint(d.Options.PanicThreshold, d.Options.NoBackendStatus, d.Options.OnDown)
		}, "40 502keep"},
		{
			keys{"stickySession": "true", "stickySession.cookie": "sid", "stickySession.secure": "yes", "stickySession.sameSite": "STRICT", "stickySession.maxAge": "1h"},
			func(d Declaration) any { return d.Options.Sticky },
			route.Sticky{On: true, Cookie: "sid", Secure: true, SameSite: "Strict", MaxAge: time.Hour},
		},
		{keys{"maxConnections": "5", "maxConnections.queue": "0", "maxConnections.queueTimeout": "2s"}, func(d Declaration) any {
			return fmt.Sprint(d.Backend.MaxConnections, d.Options.Queue)
		}, "5 {0 2s}"},
		{keys{"slowStart": "1m", "slowStart.min": "1"}, func(d Declaration) any { return fmt.Sprint(d.Backend.SlowStart, d.Backend.SlowStartMin) }, "1m0s 1"},
		{keys{"scheme": "https", "backendTLS.clientCert": "edge"}, func(d Declaration) any { return d.Backend.TLS }, route.BackendTLS{ClientCert: "edge"}},
		{keys{"scheme": "https", "backendTLS.clientCert": "egde"}, func(d Declaration) any { return d.Backend.TLS }, route.BackendTLS{}},
	}
	for _, tt := range tests {
		d, _ := web(t, tt.keys)
		if diff := cmp.Diff(tt.want, tt.get(d), plain); diff != "" {
			t.Errorf("%v: %s", tt.keys, diff)
		}
	}
}

// TestPassiveKeys shows what each label of the passive layer does, and which ways back
// are never taken.
func TestPassiveKeys(t *testing.T) {
	with := func(change func(*route.Passive)) route.Passive {
		p := route.DefaultPassive()
		p.Failures = 3
		change(&p)
		return p
	}
	tests := []struct {
		keys keys
		want route.Passive
	}{
		{keys{}, with(func(*route.Passive) {})},
		{keys{"passive.window": "30s", "passive.panic": "false", "passive.status": "none", "passive.latency": "3s"}, with(func(p *route.Passive) {
			p.Window, p.KeepServing, p.Status, p.Latency = 30*time.Second, false, route.StatusSet{}, 3*time.Second
		})},
		{keys{"passive.ejectionTime": "10m"}, with(func(p *route.Passive) { p.EjectionTime, p.MaxEjectionTime = 10*time.Minute, 10*time.Minute })},
		{keys{"passive.ejectionTime": "60s", "passive.maxEjectionTime": "10s"}, with(func(p *route.Passive) { p.EjectionTime, p.MaxEjectionTime = time.Minute, time.Minute })},
		{keys{"passive.recovery": "time", "passive.trials": "4", "passive.maxEjectionPercent": "100"}, with(func(p *route.Passive) {
			p.Recovery, p.Trials, p.MaxEjectionPercent = route.RecoverTime, 4, 100
		})},
		{keys{"passive.recovery": "probe"}, with(func(*route.Passive) {})},
		{keys{"passive.recovery": "probe", "healthCheck.type": "tls"}, with(func(*route.Passive) {})},
		{keys{"passive.recovery": "probe", "healthCheck.path": "/", "healthCheck": "false"}, with(func(*route.Passive) {})},
		{keys{"passive.recovery": "probe", "healthCheck.path": "/"}, with(func(p *route.Passive) { p.Recovery = route.RecoverProbe })},
		{keys{"passive.recovery": "probe", "healthCheck.type": "grpc"}, with(func(p *route.Passive) { p.Recovery = route.RecoverProbe })},
		{keys{"passive.feedsActive": "true"}, with(func(p *route.Passive) { p.FeedsActive = true })},
		{keys{"passive.failures": "0", "passive.window": "5s"}, with(func(p *route.Passive) { p.Failures, p.Window = 0, 5*time.Second })},
	}
	for _, tt := range tests {
		if _, own := tt.keys["passive.failures"]; !own {
			tt.keys["passive.failures"] = "3"
		}
		d, _ := web(t, tt.keys)
		if diff := cmp.Diff(tt.want, d.Options.Passive, plain); diff != "" {
			t.Errorf("%v: %s", tt.keys, diff)
		}
	}
}

// TestProbeFollowsTheBackend: scheme, names and trust of a probe are those of the
// traffic, unless labels say otherwise.
func TestProbeFollowsTheBackend(t *testing.T) {
	trust := route.BackendTLS{ServerName: "in.example", CA: "internal", ClientCert: "edge"}
	blind := trust
	blind.InsecureSkipVerify = true
	tests := []struct {
		scheme string // of the backend
		keys   keys
		want   string // scheme and Host
		tls    route.BackendTLS
	}{
		{"http", keys{"healthCheck.path": "/"}, "http 10.0.0.5:8080", route.BackendTLS{}},
		{"https", keys{"healthCheck.path": "/"}, "https 10.0.0.5:8080", trust},
		{"h2c", keys{"healthCheck.path": "/"}, "http 10.0.0.5:8080", route.BackendTLS{}},
		{"https", keys{"healthCheck.path": "/", "healthCheck.scheme": "http"}, "http 10.0.0.5:8080", route.BackendTLS{}},
		{"http", keys{"healthCheck.path": "/", "healthCheck.scheme": "https", "healthCheck.port": "443"}, "https 10.0.0.5", route.BackendTLS{}},
		{"h2c", keys{"healthCheck.type": "grpc"}, "http 10.0.0.5:8080", route.BackendTLS{}},
		{"https", keys{"healthCheck.type": "grpc", "healthCheck.host": "rpc.example"}, "https rpc.example", trust},
		{"https", keys{"healthCheck.type": "websocket"}, "https 10.0.0.5:8080", trust},
		{"https", keys{"healthCheck.type": "tls"}, " ", trust},
		{"https", keys{"healthCheck.type": "tls", "healthCheck.host": "a.b"}, " a.b", trust},
		{"https", keys{"healthCheck.type": "tcp"}, " ", route.BackendTLS{}},
		{"https", keys{"healthCheck.path": "/", "healthCheck.insecureSkipVerify": "true"}, "https 10.0.0.5:8080", blind},
		{"https", keys{"healthCheck.path": "/", "backendTLS.insecureSkipVerify": "true"}, "https 10.0.0.5:8080", blind},
		{"https", keys{"healthCheck.path": "/", "backendTLS.insecureSkipVerify": "true", "healthCheck.insecureSkipVerify": "false"}, "https 10.0.0.5:8080", trust},
		{"https", keys{"healthCheck.path": "/", "backendTLS.insecureSkipVerify": "true", "healthCheck.insecureSkipVerify": "x"}, "https 10.0.0.5:8080", blind},
	}
	for _, tt := range tests {
		tt.keys["scheme"] = tt.scheme
		maps.Copy(tt.keys, keys{"backendTLS.serverName": "in.example", "backendTLS.ca": "internal", "backendTLS.clientCert": "edge"})
		b := newBench(t)
		b.run("c1", "p", "web", tt.keys, at("10.0.0.5", 8080))
		backend := b.group(nil).Entrypoints[0].Backends[0]
		c := backend.Check
		if got := string(c.Scheme) + " " + c.Host; got != tt.want || c.TLS != tt.tls {
			t.Errorf("%v: %q %+v, want %q %+v", tt.keys, got, c.TLS, tt.want, tt.tls)
		}
		if tt.scheme == "https" && backend.TLS.ClientCert != "edge" {
			t.Errorf("%v: traffic has %+v", tt.keys, backend.TLS)
		}
	}
}

// TestWhatBelongsToEachBackend is labels.md, "Conflicts": limits and slow starts are
// never shared, the queue and the rest are the entrypoint's.
func TestWhatBelongsToEachBackend(t *testing.T) {
	b := newBench(t)
	b.run("c1", "p", "web", keys{"maxConnections": "5", "slowStart": "30s", "maxConnections.queue": "1", "passive.failures": "9"})
	b.run("c2", "p", "web", keys{"maxConnections": "7", "maxConnections.queue": "2", "passive.failures": "3"}, age(time.Hour))
	e := b.group(nil).Entrypoints[0]
	got := fmt.Sprint(e.Options.Queue.Size, e.Options.Passive.Failures)
	for i := range e.Backends {
		x := &e.Backends[i]
		got += fmt.Sprint(" ", x.MaxConnections, x.SlowStart)
	}
	newest, want := e.Backends[1].Container.CreatedAt.After(e.Backends[0].Container.CreatedAt), "2 3 5 30s 7 0s"
	if !newest {
		want = "1 9 5 30s 7 0s"
	}
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAdviceIsInForce: what is used in spite of a warning is among the origins.
func TestAdviceIsInForce(t *testing.T) {
	for name, in := range map[string]bool{"retry.tryduration": true, "retry.tryinterval": false, "healthcheck.path": false} {
		d, list := web(t, keys{"retry.tryDuration": "1s", "retry.tryInterval": "x", "healthCheck.type": "tcp", "healthCheck.path": "/"})
		found := false
		for _, o := range d.Labels {
			found = found || o.Key == name
		}
		if found != in {
			t.Errorf("%s: %t among %v, %v", name, found, d.Labels, codesOf(list))
		}
	}
}

// TestBreakerCountsByPassiveLabels: what counts as a failure is said by passive.status and
// passive.latency for the circuit breaker, too; the rest of the family is for ejections.
func TestBreakerCountsByPassiveLabels(t *testing.T) {
	for _, tt := range []struct {
		keys keys
		want []string
	}{
		{keys{"circuitBreaker.threshold": "0.5", "passive.status": "500,502", "passive.latency": "2s"}, nil},
		{keys{"circuitBreaker.threshold": "0.5", "passive.trials": "2"}, []string{"W128"}},
		{keys{"passive.status": "500,502", "passive.latency": "2s"}, []string{"W128", "W128"}},
	} {
		d, list := web(t, tt.keys)
		var got []string
		for _, c := range codesOf(list) {
			if c == "W128" {
				got = append(got, c)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.keys, codesOf(list), tt.want)
		}
		if tt.want == nil && (!d.Options.Passive.Status.Contains(500) || d.Options.Passive.Latency != 2*time.Second) {
			t.Errorf("%+v", d.Options.Passive)
		}
	}
}
