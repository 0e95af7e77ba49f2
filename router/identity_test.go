package router

import (
	"strings"
	"testing"

	"fairlead/router/route"
)

func identity(s string) option { return func(e *route.Entrypoint) { e.Identity = s } }
func called(s string) option   { return func(e *route.Entrypoint) { e.Name = s } }
func from(s string) option     { return func(e *route.Entrypoint) { e.Source = s } }

// TestWhatAnEntrypointGoesOnFrom: cells and loads stay with it, whoever has its id, and
// nobody gets those of another one.
func TestWhatAnEntrypointGoesOnFrom(t *testing.T) {
	web := func(id, key, host string, n int, more ...option) *route.Entrypoint {
		return entrypoint(t, id, host, append([]option{identity(key), called("web"), backends(backend(n))}, more...)...)
	}
	for _, c := range []struct {
		name          string
		before, after []*route.Entrypoint
		want          string // in the order of after: the one of before, "-" for none
	}{
		{"an id changes hands", []*route.Entrypoint{web("http_web", "two", "b.example", 2)},
			[]*route.Entrypoint{web("http_web", "one", "a.example", 1), web("http_web-p2", "two", "b.example", 2)}, "- http_web"},
		{"and back", []*route.Entrypoint{web("http_web", "one", "a.example", 1), web("http_web-p2", "two", "b.example", 2)},
			[]*route.Entrypoint{web("http_web", "two", "b.example", 2)}, "http_web-p2"},
		{"two ids are exchanged", []*route.Entrypoint{web("http_web", "one", "a.example", 1), web("http_web-p2", "two", "b.example", 2)},
			[]*route.Entrypoint{web("http_web", "two", "b.example", 2), web("http_web-p1", "one", "a.example", 1)}, "http_web-p2 http_web"},
		{"all backends are replaced", []*route.Entrypoint{web("http_web", "one", "a.example", 1)},
			[]*route.Entrypoint{web("http_web", "one", "a.example", 2, priority(3))}, "http_web"},
		{"the owner leaves what goes on to another one", []*route.Entrypoint{web("http_web", "one", "a.example", 1, backends(backend(1), backend(2)))},
			[]*route.Entrypoint{web("http_web", "two", "a.example", 2)}, "http_web"},
		{"another owner's app takes the host", []*route.Entrypoint{web("http_web", "one", "a.example", 1)},
			[]*route.Entrypoint{web("http_web", "two", "a.example", 2)}, "-"},
		{"an app gets another host", []*route.Entrypoint{web("http_web", "file/http_web", "a.example", 1)},
			[]*route.Entrypoint{web("http_web", "file/http_web", "b.example", 1)}, "http_web"},
		{"a name gets another app", []*route.Entrypoint{web("http_web", "file/http_web", "a.example", 1)},
			[]*route.Entrypoint{web("http_web", "file/http_web", "b.example", 2)}, "-"},
		{"another source has the key", []*route.Entrypoint{web("http_web", "", "a.example", 1)},
			[]*route.Entrypoint{web("http_web", "", "a.example", 1, from("file"))}, "-"},
	} {
		run(t, func(t *testing.T, r *rig) {
			r.send("docker", c.before...)
			cells := map[*route.RotationCell]string{}
			loads := map[*route.Load]string{}
			for _, s := range r.health.sets {
				cells[s.Cell] = s.Entrypoint.ID
				for _, p := range s.Placements {
					loads[p.Load] = s.Entrypoint.ID
				}
			}
			r.send("docker", c.after...)
			var got []string
			for _, e := range c.after {
				cell := r.Table().Route(e.ID).Cell
				was := cells[cell]
				if was == "" {
					was = "-"
				}
				got = append(got, was)
				for _, p := range placementsOf(r.health, e.ID) {
					if p.Entrypoint != e.ID {
						t.Errorf("%s: a placement of %s names %s", c.name, e.ID, p.Entrypoint)
					}
					if of := loads[p.Load]; of != "" && of != was {
						t.Errorf("%s: %s has a load of %s", c.name, e.ID, of)
					}
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %v, not %s", c.name, got, c.want)
			}
		})
	}
}

// TestANewIDIsPreparedAnew: it is in the name of the cookie.
func TestANewIDIsPreparedAnew(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.send("docker", entrypoint(t, "http_web", "a.example", identity("one")))
		r.send("docker", entrypoint(t, "http_web-p1", "a.example", identity("one"), called("web")))
		if got := strings.Join(*r.prepared, " "); got != "http_web http_web-p1" {
			t.Errorf("prepared %s", got)
		}
		r.lines(t)
		r.send("docker", entrypoint(t, "http_web", "b.example", identity("two"), backends(backend(2))))
		if got := strings.Join(r.lines(t), "; "); got != "info route added http_web; info route removed http_web-p1" {
			t.Error(got)
		}
	})
}
