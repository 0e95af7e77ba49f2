package healthcheck

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestExplainGolden keeps the sentences of telling situations.
func TestExplainGolden(t *testing.T) {
	var out strings.Builder
	for _, s := range stories() {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			fmt.Fprintf(&out, "# %s\n", s.name)
			s.play(r)
			h := r.engine.View().Entrypoints["http_api"]
			fmt.Fprintf(&out, "%s: %s\n", h.State, h.Explain)
			for i := range h.Backends {
				b := &h.Backends[i]
				checkRules(t, b)
				fmt.Fprintf(&out, "  %s %s (%s): %s\n", b.Backend.ID, b.State, b.RotationReason, b.Explain)
				if b.Hint != "" {
					fmt.Fprintf(&out, "    hint: %s\n", b.Hint)
				}
			}
			out.WriteString("\n")
		})
	}
	const golden = "testdata/explain.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("got\n%s\nwant (run with -update to accept)\n%s", out.String(), want)
	}
}

type story struct {
	name string
	play func(r *rig)
}

func stories() []story {
	word := func(p route.ProviderState, d route.DockerHealth) func(*route.Backend) {
		return func(b *route.Backend) { b.Provider, b.Docker = p, d }
	}
	weight := func(n int) func(*route.Backend) { return func(b *route.Backend) { b.Weight = n } }
	initial := func(i route.Initial) func(*route.Backend) { return checked(func(c *route.Check) { c.Initial = i }) }
	delay := checked(func(c *route.Check) { c.InitialDelay = 10 * time.Second })
	three := checked(func(c *route.Check) { c.UnhealthyThreshold, c.HealthyThreshold, c.FastInterval = 3, 2, time.Second })
	off := func(b *route.Backend) { b.Check = nil }
	two := func(r *rig, edit ...func(*route.Backend)) route.PlacementSet {
		return r.set("http_api", backend("b1", "10.0.0.1", edit...), backend("b2", "10.0.0.2", edit...))
	}
	play := func(r *rig, s route.PlacementSet, until time.Duration) {
		r.apply(s)
		r.run()
		r.at(until)
	}
	open := func(r *rig, hosts ...string) {
		for _, h := range hosts {
			r.net.set(h+":80", accept)
		}
	}
	mode := func(s route.PlacementSet, m route.PanicMode) route.PlacementSet {
		s.Entrypoint.Options.Panic = m
		return s
	}
	bare := func(r *rig, f func(*route.Entrypoint)) route.PlacementSet {
		e := &route.Entrypoint{ID: "http_api", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
		f(e)
		return r.setOf(e)
	}
	return []story{
		{"both verified", func(r *rig) { open(r, "10.0.0.1", "10.0.0.2"); play(r, two(r), 3*time.Second) }},
		{"one of two refused, thresholds 3/2", func(r *rig) {
			open(r, "10.0.0.1", "10.0.0.2")
			play(r, two(r, three), 5*time.Second)
			r.net.set("10.0.0.2:80", refuse)
			r.at(14 * time.Second)
		}},
		{"one failure of three", func(r *rig) {
			open(r, "10.0.0.1", "10.0.0.2")
			play(r, two(r, three), 5*time.Second)
			r.net.set("10.0.0.2:80", refuse)
			r.at(10500 * time.Millisecond)
		}},
		{"one success of two", func(r *rig) {
			open(r, "10.0.0.1")
			play(r, two(r, three), 5*time.Second)
			open(r, "10.0.0.2")
			r.at(10500 * time.Millisecond)
		}},
		{"both answer 404: panic", func(r *rig) {
			r.net.set("10.0.0.1:80", answer("HTTP/1.1 404 X\r\n\r\n"))
			r.net.set("10.0.0.2:80", answer("HTTP/1.1 404 X\r\n\r\n"))
			play(r, two(r, httpCheck("/health?token=x")), 3*time.Second)
		}},
		{"the only one fails", func(r *rig) { play(r, r.set("http_api", backend("b1", "10.0.0.1")), 3*time.Second) }},
		{"it fails, and real requests succeed", func(r *rig) {
			r.net.set("10.0.0.1:80", answer("HTTP/1.1 404 X\r\n\r\n"))
			s := r.set("http_api", backend("b1", "10.0.0.1", httpCheck("/health")))
			play(r, s, 3*time.Second)
			_ = r.engine.View()
			for range 25 {
				r.engine.Report(route.Outcome{Placement: s.Placements[0], Status: 200})
			}
			r.at(5 * time.Second)
		}},
		{"panic=last", func(r *rig) {
			open(r, "10.0.0.1")
			play(r, mode(two(r), route.PanicLast), 3*time.Second)
			r.net.set("10.0.0.1:80", blackhole)
			r.at(16 * time.Second)
		}},
		{"panic=off", func(r *rig) { play(r, mode(two(r), route.PanicOff), 3*time.Second) }},
		{"young and not listening yet", func(r *rig) { play(r, two(r, delay), 3*time.Second) }},
		{"initial=up", func(r *rig) {
			r.net.set("10.0.0.1:80", blackhole)
			play(r, r.set("http_api", backend("b1", "10.0.0.1", initial(route.InitialUp))), 3*time.Second)
		}},
		{"initial=down", func(r *rig) {
			r.net.set("10.0.0.1:80", blackhole)
			play(r, two(r, initial(route.InitialDown)), 3*time.Second)
		}},
		{"unchecked, and a backup", func(r *rig) {
			play(r, r.set("http_api", backend("b1", "10.0.0.1", off), backend("b2", "10.0.0.2", off, weight(0))), time.Second)
		}},
		{"an unchecked backup serves", func(r *rig) {
			play(r, r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2", off, weight(0))), time.Second)
		}},
		{"a verified backup waits", func(r *rig) {
			open(r, "10.0.0.1", "10.0.0.2")
			play(r, r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2", weight(0))), time.Second)
		}},
		{"a verified backup serves", func(r *rig) {
			open(r, "10.0.0.2")
			play(r, r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2", weight(0))), time.Second)
		}},
		{"a pending backup waits", func(r *rig) {
			r.net.set("10.0.0.1:80", blackhole)
			play(r, r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2", weight(0), delay)), time.Second)
		}},
		{"its check was just turned on", func(r *rig) {
			r.net.set("10.0.0.1:80", blackhole)
			play(r, r.set("http_api", backend("b1", "10.0.0.1", off)), time.Second)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		}},
		{"Docker: unhealthy, and leaving", func(r *rig) {
			play(r, r.set("http_api", backend("b1", "10.0.0.1", word(route.ProviderUnhealthy, route.DockerHealthPrefer)),
				backend("b2", "10.0.0.2", word(route.ProviderLeaving, route.DockerHealthPrefer))), time.Second)
		}},
		{"Docker: starting beside a verified one", func(r *rig) {
			open(r, "10.0.0.1", "10.0.0.2")
			play(r, r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2", word(route.ProviderStarting, route.DockerHealthPrefer))), time.Second)
		}},
		{"Docker: starting, required", func(r *rig) {
			play(r, r.set("http_api", backend("b1", "10.0.0.1", word(route.ProviderStarting, route.DockerHealthRequire))), time.Second)
		}},
		{"all leaving", func(r *rig) { play(r, two(r, word(route.ProviderLeaving, route.DockerHealthPrefer)), time.Second) }},
		{"closed by a label", func(r *rig) {
			open(r, "10.0.0.1")
			s := r.set("http_api", backend("b1", "10.0.0.1"))
			s.Entrypoint.FailClosed = &route.FailClosed{Code: "E113", Label: "fairlead.http.api.auth.basic"}
			play(r, s, time.Second)
		}},
		{"closed by a label, no verdict yet", func(r *rig) {
			r.net.set("10.0.0.1:80", blackhole)
			s := r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2", off))
			s.Entrypoint.FailClosed = &route.FailClosed{Code: "E113", Label: "fairlead.http.api.auth.basic"}
			play(r, s, time.Second)
		}},
		{"verified, then its check changed and fails within initialDelay", func(r *rig) {
			open(r, "10.0.0.1")
			late := checked(func(c *route.Check) { c.InitialDelay, c.UnhealthyThreshold = time.Minute, 3 })
			play(r, r.set("http_api", backend("b1", "10.0.0.1", late)), 3*time.Second)
			other := checked(func(c *route.Check) { c.InitialDelay, c.UnhealthyThreshold, c.Port = time.Minute, 3, 81 })
			r.net.set("10.0.0.1:81", refuse)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", other)))
			r.at(35 * time.Second)
		}},
		{"it served, and lost its network", func(r *rig) {
			open(r, "10.0.0.1")
			play(r, r.set("http_api", backend("b1", "10.0.0.1")), 3*time.Second)
			r.apply(bare(r, func(e *route.Entrypoint) {
				e.Absent = []route.Absence{{Name: "api-1", Why: route.AbsentNoAddress}}
			}))
		}},
		{"one of two refused by a diagnostic", func(r *rig) {
			open(r, "10.0.0.1")
			s := r.set("http_api", backend("b1", "10.0.0.1"))
			s.Entrypoint.Absent = []route.Absence{{Name: "api-2", Why: route.AbsentRefused}, {Name: "api-0", Why: route.AbsentRetained}}
			s.Entrypoint.Diagnostics = []route.Diagnostic{route.Diagnose("E106", "set port", "network_mode: host needs a port label")}
			play(r, s, time.Second)
		}},
		{"restarting", func(r *rig) {
			play(r, bare(r, func(e *route.Entrypoint) {
				e.Absent = []route.Absence{{Name: "api-1", Why: route.AbsentRestarting}}
			}), time.Second)
		}},
		{"retained", func(r *rig) {
			play(r, bare(r, func(e *route.Entrypoint) { e.RetainedUntil = r.start.Add(time.Minute) }), time.Second)
		}},
		{"paused", func(r *rig) {
			play(r, bare(r, func(e *route.Entrypoint) {
				e.Absent = []route.Absence{{Name: "api-1", Why: route.AbsentPaused}, {Name: "api-2", Why: route.AbsentRefused}}
			}), time.Second)
		}},
		{"no address yet", func(r *rig) {
			play(r, bare(r, func(e *route.Entrypoint) {
				e.Absent = []route.Absence{{Name: "api-1", Why: route.AbsentNoAddress}}
			}), time.Second)
		}},
		{"many out", func(r *rig) {
			open(r, "10.0.0.1")
			var all []route.Backend
			for i := range 6 {
				b := backend(fmt.Sprintf("b%d", i+1), fmt.Sprintf("10.0.0.%d", i+1))
				if i == 5 {
					b.Name = ""
				}
				all = append(all, b)
			}
			play(r, r.set("http_api", all...), time.Second)
		}},
	}
}
