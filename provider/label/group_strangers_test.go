package label

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestBackendsOfSeveralProjects are one entrypoint by design, and that is said (W134): two
// stacks that share a host and a service name by accident serve each other's clients.
func TestBackendsOfSeveralProjects(t *testing.T) {
	for _, tt := range []struct {
		name  string
		build func(b *bench)
		want  string // a part of the finding, "" for none
	}{
		{"two projects", func(b *bench) {
			b.run("c1", "shop", "web", nil)
			b.run("c2", "blog", "web", nil, age(time.Hour))
			b.run("c3", "blog", "web", nil, age(time.Hour))
		}, "2 compose projects serve entrypoint http_web together (blog, shop)"},
		{"many", func(b *bench) {
			for p := range strings.FieldsSeq("a b c d e f g") {
				b.run("c"+p, p, "web", nil)
			}
		}, "7 compose projects serve entrypoint http_web together (a, b, c, d, e, ...)"},
		{"two services of one project", func(b *bench) {
			b.run("c1", "shop", "web", nil)
			b.run("c2", "shop", "canary", nil)
		}, ""},
		{"one that was started by hand", func(b *bench) {
			b.run("c1", "shop", "web", nil)
			b.run("c2", "", "", nil)
		}, ""},
		{"one that does not serve", func(b *bench) {
			b.run("c1", "shop", "web", nil)
			b.run("c2", "blog", "web", nil, is(Paused))
			b.run("c3", "old", "web", nil, until(epoch.Add(time.Minute)))
		}, ""},
		{"one whose labels close its route", func(b *bench) {
			b.run("c1", "shop", "web", nil)
			b.run("c2", "blog", "web", keys{"auth.basic": "nonsense"}, age(time.Hour))
		}, ""},
		{"another host", func(b *bench) {
			b.run("c1", "shop", "web", nil)
			b.run("c2", "blog", "web", keys{"host": "blog.example"}, age(time.Hour))
		}, ""},
	} {
		b := newBench(t)
		tt.build(b)
		var found []route.Diagnostic
		for _, e := range b.group(nil).Entrypoints {
			for _, d := range e.Diagnostics {
				if d.Code == "W134" {
					found = append(found, d)
				}
			}
		}
		if len(found) > 1 || (len(found) == 1) != (tt.want != "") || tt.want != "" && !strings.Contains(found[0].Message, tt.want) {
			t.Errorf("%s: %+v", tt.name, found)
		}
	}
}
