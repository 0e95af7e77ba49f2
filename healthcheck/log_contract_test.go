package healthcheck

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// line is what a line of the log must look like: level, what is said, and the fields in
// their order.
func line(level, backend, from, to, cause, kind, counters, in, message string) *regexp.Regexp {
	who := ""
	if backend != "" {
		who = `"backend":"` + backend + `","address":"10\.0\.0\.\d:80","container":"` + backend + `-name",`
	}
	if counters != "" {
		counters = `,"consecutive_ok":\d+,"consecutive_fail":` + strings.Replace(counters, "/", `,"threshold":`, 1)
	}
	actor := ""
	if cause == "operator" && backend != "" {
		actor = `,"actor":"ops","reason":"deploy"`
	}
	return regexp.MustCompile(`^\{"level":"` + level + `","route":"http_api",` + who + `"from":"` + from + `","to":"` + to +
		`","cause":"` + cause + `","kind":"` + kind + `","message":"[^"]*"` + actor + counters +
		`,"in_rotation":` + in + `,"rev":\d+,"message":"` + message + `"\}$`)
}

// TestLogLines: each transition of each layer is one line with route, backend, from, to,
// cause, kind and counters; steady state has none at info (health.md, test 19).
func TestLogLines(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.engine.cfg.Log = r.engine.cfg.Log.Level(zerolog.InfoLevel)
		e := ejecting()
		two := []route.Backend{
			backend("b1", "10.0.0.1", checked(func(c *route.Check) { c.UnhealthyThreshold, c.HealthyThreshold, c.FastInterval = 3, 2, time.Second })),
			backend("b2", "10.0.0.2"),
		}
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.setOf(e, two...))
		r.run()
		r.still()
		r.expect(5*time.Minute, "the start",
			line("info", "b[12]", "pending", "up", "probe", "", "0/[12]", "true", "backend up"),
			line("info", "b[12]", "pending", "up", "probe", "", "0/[12]", "true", "backend up"))
		r.net.set("10.0.0.1:80", refuse)
		r.expect(6*time.Minute, "a fault", line("warn", "b1", "up", "down", "probe", "connection_refused", "3/3", "false", "backend down"))
		r.net.set("10.0.0.1:80", blackhole)
		r.expect(7*time.Minute, "another fault", line("info", "b1", "down", "down", "probe", "timeout", "3/3", "false", "backend reason changed"))
		r.net.set("10.0.0.2:80", refuse)
		r.expect(8*time.Minute, "no backend left",
			line("warn", "b2", "up", "down", "probe", "connection_refused", "1/1", "true", "backend down"),
			line("warn", "", "partial", "panic", "probe", "", "", "true", "route panic started"))
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		r.expect(9*time.Minute, "all back",
			line("info", "b[12]", "down", "up", "probe", "", "0/[12]", "true", "backend up"),
			line("info", "", "panic", "partial|panic", "probe", "", "", "true", "route panic ended"),
			line("info", "b[12]", "down", "up", "probe", "", "0/[12]", "true", "backend up"))
		r.requests("b1", 503, 503, 503)
		r.expect(9*time.Minute+time.Second, "an ejection", line("warn", "b1", "up", "ejected", "traffic", "ejected_failures", `\d+/\d+`, "false", "backend ejected"))
		r.expect(10*time.Minute, "the end of an ejection", line("info", "b1", "ejected", "trial", "timer", "ejected_failures", `\d+/\d+`, "true", "backend trial"))
		r.request("b1", 200)
		r.expect(11*time.Minute, "a good trial", line("info", "b1", "trial", "up", "traffic", "", `\d+/\d+`, "true", "backend readmitted"))
		r.command(route.OrderDrain)
		r.expect(12*time.Minute, "a drain", line("info", "b1", "up", "draining", "operator", "admin_drain", `\d+/\d+`, "false", "backend drain"))
		r.command(route.OrderReady)
		r.expect(13*time.Minute, "ready", line("info", "b1", "draining", "up", "operator", "", `\d+/\d+`, "true", "backend ready"))
		two[1].Provider = route.ProviderUnhealthy
		r.apply(r.setOf(ejecting(), two...))
		r.expect(14*time.Minute, "Docker's word", line("warn", "b2", "up", "gated", "provider", "docker_unhealthy", `\d+/\d+`, "false", "backend down"))
	})
}

// TestLogLinesOfOutages: an entrypoint that is down for clients is a line at WARN with what
// they get, and its way back one at INFO; what belongs to a deploy is none.
func TestLogLinesOfOutages(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.engine.cfg.Log = r.engine.cfg.Log.Level(zerolog.InfoLevel)
		e := ejecting(func(o *route.Options) { o.Panic = route.PanicOff })
		one := backend("b1", "10.0.0.1")
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.setOf(e, one))
		r.run()
		r.expect(time.Minute, "the start", line("info", "b1", "pending", "up", "probe", "", "0/1", "true", "backend up"))
		r.net.set("10.0.0.1:80", refuse)
		r.expect(2*time.Minute, "panic=off",
			line("warn", "b1", "up", "down", "probe", "connection_refused", "1/1", "false", "backend down"),
			line("warn", "", "ok", "down", "probe", "", "", "false", "route down"))
		history := r.engine.View().Entrypoints["http_api"].History
		if got, want := history[len(history)-1].Message, "clients get 503 (all_unhealthy): no backend is verified; out: b1 (panic off: connection refused). "+
			"panic=off keeps unverified backends out; with panic=all they would serve"; got != want {
			t.Errorf("told %s, want %s", got, want)
		}
		r.net.set("10.0.0.1:80", accept)
		r.expect(3*time.Minute, "back",
			line("info", "b1", "down", "up", "probe", "", "0/1", "true", "backend up"),
			line("info", "", "down", "ok", "probe", "", "", "true", "route up"))
		if err := r.engine.Order("http_api", "b1", route.Order{Action: route.OrderMaintenance, Actor: "ops", Reason: "deploy", Force: true, Scope: route.ScopeBackend}); err != nil {
			t.Fatal(err)
		}
		r.logs.mu.Lock()
		text := r.logs.b.String()
		r.logs.mu.Unlock()
		if want := `"message":"clients get 503 (all_maintenance): the only backend is in maintenance; out: b1 (maintenance: by ops (deploy)). ` +
			`The command fairlead ready http_api --all brings all back","in_rotation":false`; !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text, want)
		}
		r.logs.mu.Lock()
		r.logs.b.Reset()
		r.logs.mu.Unlock()
		r.command(route.OrderReady)
		r.expect(4*time.Minute, "ready",
			line("info", "b1", "maintenance", "pending", "operator", "", `\d+/\d+`, "true", "backend ready"),
			line("info", "", "down", "pending", "operator", "", "", "true", "route up"),
			line("info", "b1", "pending", "up", "probe", "", "0/1", "true", "backend up"))
		one.Provider = route.ProviderLeaving
		r.apply(r.setOf(e, one)) // a deploy: it leaves, and another one comes
		r.at(4*time.Minute + time.Second)
		r.apply(r.setOf(e))
		r.at(4*time.Minute + 2*time.Second)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.setOf(e, backend("b2", "10.0.0.2")))
		r.expect(5*time.Minute, "a deploy", line("info", "b2", "pending", "up", "probe", "", "0/1", "true", "backend up"))
	})
}

// TestOutageIsToldOnce: at the start, too, not for each reason, and when it follows upon a
// moment of a deploy.
func TestOutageIsToldOnce(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		e := ejecting(func(o *route.Options) { o.Panic = route.PanicOff })
		word := func(p route.ProviderState) {
			b := backend("b1", "10.0.0.1")
			b.Provider = p
			r.apply(r.setOf(e, b))
		}
		r.net.set("10.0.0.1:80", accept)
		word(route.ProviderUnhealthy) // at the start
		r.run()
		r.at(time.Minute)
		word(route.ProviderPresent)
		r.at(2 * time.Minute)
		word(route.ProviderLeaving) // not told,
		r.at(3 * time.Minute)
		word(route.ProviderUnhealthy) // told now, though it was down before,
		r.at(4 * time.Minute)
		word(route.ProviderLeaving) // for another reason,
		r.at(5 * time.Minute)
		word(route.ProviderUnhealthy) // and again
		r.at(6 * time.Minute)
		word(route.ProviderPresent)
		r.at(7 * time.Minute)
		var told []string
		for _, one := range r.seen.loud(r.start) {
			if strings.Contains(one, "http_api/ ") {
				told = append(told, one)
			}
		}
		if got, want := strings.Join(told, ", "), "0s http_api/ pending>down, 1m0s http_api/ down>ok, 3m0s http_api/ down>down, 6m0s http_api/ down>ok"; got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	})
}

// TestLogLinesOfUnprobed: a backend that is not probed never is "up", and its way back is a
// line at INFO all the same: Docker's word, its restart, traffic, a check that is turned off.
func TestLogLinesOfUnprobed(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.engine.cfg.Log = r.engine.cfg.Log.Level(zerolog.InfoLevel)
		two := []route.Backend{backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2")}
		two[0].Check, two[1].Check = nil, nil
		word := func(p route.ProviderState) {
			two[0].Provider = p
			r.apply(r.setOf(ejecting(), two...))
		}
		up := func(from, cause string) *regexp.Regexp {
			return line("info", "b1", from, "unchecked", cause, "", `\d+/\d+`, "true", "backend up")
		}
		word(route.ProviderStarting)
		r.run()
		r.expect(time.Minute, "the start")
		word(route.ProviderPresent)
		r.expect(2*time.Minute, "healthy for the first time", up("pending", "provider"))
		word(route.ProviderUnhealthy)
		r.expect(3*time.Minute, "unhealthy", line("warn", "b1", "unchecked", "gated", "provider", "docker_unhealthy", `\d+/\d+`, "false", "backend down"))
		word(route.ProviderPresent)
		r.expect(4*time.Minute, "healthy again", up("gated", "provider"))
		word(route.ProviderLeaving)
		word(route.ProviderPresent)
		r.expect(5*time.Minute, "a signal that it ignored")
		c := *backend("b1", "10.0.0.1").Check
		two[0].Check = &c
		word(route.ProviderPresent)
		r.expect(6*time.Minute, "its check is on", line("warn", "b1", "pending", "down", "probe", "connection_refused", "1/1", "false", "backend down"))
		two[0].Check = nil
		word(route.ProviderPresent)
		r.expect(7*time.Minute, "its check is off", up("down", "config"))
		want := "[1m0s http_api/b1 pending>unchecked 2m0s http_api/b1 unchecked>gated 3m0s http_api/b1 gated>unchecked " +
			"5m0s http_api/b1 pending>down 6m0s http_api/b1 down>unchecked]"
		if got := fmt.Sprint(r.seen.loud(r.start)); got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	})
}

func (r *rig) command(action route.OrderAction) {
	r.t.Helper()
	if err := r.engine.Order("http_api", "b1", route.Order{Action: action, Actor: "ops", Reason: "deploy", Scope: route.ScopeBackend}); err != nil {
		r.t.Fatal(err)
	}
}

// expect lets time pass and holds the lines since the last call to the patterns.
func (r *rig) expect(until time.Duration, what string, want ...*regexp.Regexp) {
	r.t.Helper()
	r.at(until)
	var got []string
	r.logs.mu.Lock()
	if text := strings.TrimSpace(r.logs.b.String()); text != "" {
		got = strings.Split(text, "\n")
	}
	r.logs.b.Reset()
	r.logs.mu.Unlock()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = want[i].MatchString(got[i])
	}
	if !ok {
		r.t.Errorf("%s: lines\n%s\nwant\n%v", what, strings.Join(got, "\n"), want)
	}
}
