package healthcheck

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// duo is two backends that served, until they began to do something else.
func duo(r *rig, then ...func(context.Context) (net.Conn, error)) {
	hosts := []string{"10.0.0.1:80", "10.0.0.2:80"}
	for _, host := range hosts {
		r.net.set(host, accept)
	}
	r.apply(r.set("http_api", backend("b0", "10.0.0.1"), backend("b1", "10.0.0.2")))
	r.run()
	r.at(time.Second)
	for i, host := range hosts {
		r.net.set(host, then[i])
	}
	r.at(26 * time.Second)
}

// entrypointSentences are situations of an entrypoint with its sentence, word for word.
func entrypointSentences() []struct {
	name string
	play func(*rig)
	want string
} {
	late := checked(func(c *route.Check) { c.InitialDelay = 5 * time.Minute })
	return []struct {
		name string
		play func(*rig)
		want string
	}{
		{"one that never answers, young", func(r *rig) {
			r.apply(r.set("http_api", backend("b0", "10.0.0.1", late)))
			r.run()
			r.at(time.Minute)
		}, "Starting: 1 of 1 backend is tried although it has not answered yet: connection refused, since 00:00:00 UTC. " +
			"Failures count from 00:05:00 UTC on (healthCheck.initialDelay). A request waits for up to 10s (holdFor), then gets 503."},
		{"nothing to wait for", func(r *rig) {
			s := r.set("http_api", backend("b0", "10.0.0.1", late))
			s.Entrypoint.Options.HoldFor = 0
			r.apply(s)
			r.run()
			r.at(time.Minute)
		}, "Starting: 1 of 1 backend is tried although it has not answered yet: connection refused, since 00:00:00 UTC. " +
			"Failures count from 00:05:00 UTC on (healthCheck.initialDelay)."},
		{"two that fail in two ways", func(r *rig) {
			r.net.set("10.0.0.2:80", answer("HTTP/1.1 503 X\r\n\r\n"))
			r.apply(r.set("http_api", backend("b0", "10.0.0.1", late), backend("b1", "10.0.0.2", httpCheck("/"), late)))
			r.run()
			r.at(time.Minute)
		}, "Starting: 2 of 2 backends are tried although none has passed a probe yet: b0 connection refused, b1 answered 503, wanted 2xx,3xx, since 00:00:00 UTC. " +
			"Failures count from 00:05:00 UTC on (healthCheck.initialDelay). A request waits for up to 10s (holdFor), then gets 503."},
		{"one that fails beside one without a result", func(r *rig) {
			r.net.set("10.0.0.2:80", blackhole)
			r.apply(r.set("http_api", backend("b0", "10.0.0.1", late)))
			r.run()
			r.at(time.Minute)
			r.apply(r.set("http_api", backend("b0", "10.0.0.1", late), backend("b1", "10.0.0.2", late)))
			r.at(time.Minute + time.Second)
		}, "Starting: 2 of 2 backends serving before the first verdict, but b0 has not answered yet: connection refused, since 00:00:00 UTC. " +
			"Failures count from 00:05:00 UTC on (healthCheck.initialDelay)."},
		{"panicThreshold", func(r *rig) {
			trio(r, ejecting(func(o *route.Options) { o.PanicThreshold = 50 }))
			r.net.set("10.0.0.1:80", refuse)
			r.net.set("10.0.0.2:80", blackhole)
			r.at(16 * time.Second)
		}, "Panic: fewer than 50 % of the primaries are verified (1 of 3), so all serve (panicThreshold); b0: connection refused, b1: no answer in time while connecting (5s)."},
		{"the only one refuses, and never served", func(r *rig) {
			r.apply(r.set("http_api", backend("b0", "10.0.0.1")))
			r.run()
			r.at(time.Second)
		}, "Panic: no backend is verified; the only one gets the requests anyway (panic=all): connection refused; clients get 503 (all_unhealthy) while it refuses connections."},
		{"the same with a status of its own", func(r *rig) {
			s := r.set("http_api", backend("b0", "10.0.0.1"))
			s.Entrypoint.Options.NoBackendStatus = 502
			r.apply(s)
			r.run()
			r.at(time.Second)
		}, "Panic: no backend is verified; the only one gets the requests anyway (panic=all): connection refused; clients get 502 (all_unhealthy) while it refuses connections."},
		{"two that served refuse", func(r *rig) {
			duo(r, refuse, refuse)
		}, "Panic: no backend is verified; both get the requests anyway (panic=all); both fail alike (connection refused), so suspect the configuration first; " +
			"clients get 502 (connect_refused) while they refuse connections."},
		{"one refuses, one is silent", func(r *rig) {
			duo(r, refuse, blackhole)
		}, "Panic: no backend is verified; both get the requests anyway (panic=all); b0: connection refused, b1: no answer in time while connecting (5s)."},
		{"one that served and one that did not", func(r *rig) {
			r.net.set("10.0.0.1:80", accept)
			r.apply(r.set("http_api", backend("b0", "10.0.0.1"), backend("b1", "10.0.0.2")))
			r.run()
			r.at(time.Second)
			r.net.set("10.0.0.1:80", refuse)
			r.at(16 * time.Second)
		}, "Panic: no backend is verified; both get the requests anyway (panic=all); both fail alike (connection refused), so suspect the configuration first; " +
			"clients get errors while they refuse connections."},
		{"the port of the check refuses", func(r *rig) {
			r.apply(r.set("http_api", backend("b0", "10.0.0.1", checked(func(c *route.Check) { c.Port = 81 }))))
			r.run()
			r.at(time.Second)
		}, "Panic: no backend is verified; the only one gets the requests anyway (panic=all): connection refused."},
		{"connections that are refused", func(r *rig) {
			s := r.set("http_api", backend("b0", "10.0.0.1"))
			s.Entrypoint.Protocol = route.TCP
			r.apply(s)
			r.run()
			r.at(time.Second)
		}, "Panic: no backend is verified; the only one gets the requests anyway (panic=all): connection refused; clients' connections are closed while it refuses connections."},
		{"one on trial", func(r *rig) {
			trio(r, ejecting())
			r.requests("b0", 503, 503, 503)
			r.at(32 * time.Second)
		}, "Degraded: 3 of 3 backends in rotation; on trial, one request at a time: b0 (3 requests in a row failed; last: answered 503)."},
		{"a backup that stands by", func(r *rig) {
			for _, host := range []string{"10.0.0.1:80", "10.0.0.3:80"} {
				r.net.set(host, accept)
			}
			r.apply(r.set("http_api", backend("b0", "10.0.0.1"), backend("b1", "10.0.0.2"), backend("b2", "10.0.0.3", func(b *route.Backend) { b.Weight = 0 })))
			r.run()
			r.at(time.Second)
		}, "Degraded: 1 of 3 backends in rotation; out: b1 (probe failed: connection refused); standing by as a backup: b2."},
		{"all ejected, passive.panic=false", func(r *rig) {
			trio(r, ejecting(func(o *route.Options) { o.Passive.KeepServing, o.Passive.MaxEjectionPercent = false, 100 }))
			for _, id := range []string{"b0", "b1", "b2"} {
				r.requests(id, 503, 503, 503)
			}
			r.at(3 * time.Second)
		}, "Down: no backend is verified; out: b0 (ejected: 3 requests in a row failed; last: answered 503), b1 (ejected: 3 requests in a row failed; last: answered 503), " +
			"b2 (ejected: 3 requests in a row failed; last: answered 503). passive.panic=false keeps ejected backends out although nothing else is left; with passive.panic=true they would serve. " +
			"The application answers 503 to clients: its log (docker logs --tail 50 b0-name) says why."},
	}
}

// TestEntrypointSentences holds what is said of entrypoints word for word.
func TestEntrypointSentences(t *testing.T) {
	for _, row := range entrypointSentences() {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			row.play(r)
			if got := r.engine.View().Entrypoints["http_api"].Explain; got != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.name, got, row.want)
			}
		})
	}
}

// TestScarcityIsTold by the transition and as the reason of the panic: not that nobody is
// verified.
func TestScarcityIsTold(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(func(o *route.Options) { o.PanicThreshold = 50 }))
		r.net.set("10.0.0.1:80", refuse)
		r.net.set("10.0.0.2:80", refuse)
		r.at(12 * time.Second)
		h := r.engine.View().Entrypoints["http_api"]
		const want = "fewer than 50 % of the primaries are verified (1 of 3), so all serve (panicThreshold)"
		if last := h.History[len(h.History)-1]; last.To != "panic" || last.Message != want || !strings.HasPrefix(h.Panic.Reason, want+"; b0: connection refused") {
			t.Errorf("%+v\n%s", last, h.Panic.Reason)
		}
	})
}

// TestEjectedHint says what to look at.
func TestEjectedHint(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		r.requests("b0", 503, 504, 502)
		if got, want := r.health("http_api", "b0").Hint, "the application answers 502 to clients: its log (docker logs --tail 50 b0-name) says why"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestFaultHints: each sort of failure of requests has its advice.
func TestFaultHints(t *testing.T) {
	for want, f := range map[string]fault{
		"answers too late (passive.latency)": {status: 200, slow: true},
		"answers 500 to clients: LOG":        {status: 500},
		"passive.status counts 404":          {status: 404},
		"is the application up? LOG":         {kind: route.KindConnectionRefused},
		"is it stuck":                        {kind: route.KindTimeout},
		"see backendTLS.ca":                  {kind: route.KindTLSFailure},
		"without a whole answer: LOG":        {kind: route.KindConnectionReset},
		"look at LOG":                        {},
	} {
		if got := f.hint("LOG"); !strings.Contains(got, want) {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
}

// TestProbeHintsOfTheApplication: an answer by which the application itself says no, and
// an end without one, name its log.
func TestProbeHintsOfTheApplication(t *testing.T) {
	const log = "its log (docker logs --tail 50 api-1)"
	http, socket := &route.Check{Type: route.ProbeHTTP}, &route.Check{Type: route.ProbeWebSocket}
	for _, c := range []struct {
		f    complaint
		want string
	}{
		{complaint{kind: route.KindBadStatus, status: 500, check: http, log: log}, "the application itself answers the check with 500: " + log + " says why"},
		{complaint{kind: route.KindBadStatus, status: 503, check: http}, "the application itself answers the check with 503: its own log says why"},
		{complaint{kind: route.KindWebSocketRefused, status: 503, check: socket, log: log}, "the application itself answers the check with 503: " + log + " says why"},
		{complaint{kind: route.KindHTTPError, check: http, log: log},
			"the application ends the connection without an answer: " + log + " may say why; correct healthCheck.port if the port belongs to another service"},
		{complaint{kind: route.KindConfigError, clue: clueMissingCA, check: http}, "backendTLS.ca names an authority that is not in the configuration (W109): add it there, or correct the label"},
	} {
		if got := advice(&c.f); got != c.want {
			t.Errorf("%s %d: %s\nwant %s", c.f.kind, c.f.status, got, c.want)
		}
	}
}

// TestBreakerSaysWithWhat the requests failed: all, most of them, and the trial after.
func TestBreakerSaysWithWhat(t *testing.T) {
	ok, bad, refused := route.Outcome{Status: 200}, route.Outcome{Status: 502}, route.Outcome{Transport: true, Kind: route.KindConnectionRefused}
	rules := route.Breaker{Threshold: 1, MinRequests: 4, Cooldown: 10 * time.Second}
	told := func(b *breaker, now time.Time, want string) {
		t.Helper()
		if news := b.take(now); len(news) != 1 || news[0].message != "4 of the last 4 requests failed (circuitBreaker.threshold=1): "+want {
			t.Errorf("%+v, want %s", news, want)
		}
	}
	b, _, now := guarded(rules, 0)
	b.feed(now, bad, refused, bad, bad)
	told(b, now, "most of them answered 502")
	b, _, now = guarded(rules, 0)
	b.feed(now, refused, refused, refused, ok, refused, refused, ok) // what falls out of the count
	b.feed(now, bad, bad, bad, bad)
	told(b, now, "answered 502")
	now = now.Add(10 * time.Second)
	lease, _, _ := b.Enter(now)
	b.Leave(lease, refused, now)
	text := b.explain(503)
	for _, part := range []string{"the trial after that failed, too: connection refused; clients get 503 until", "Nothing listens on the port"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nwant %s", text, part)
		}
	}
}
