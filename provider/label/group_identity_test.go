package label

import (
	"testing"
	"time"
)

// TestIdentity: it is the same over a recreate, another id and another priority, and not
// that of anything else.
func TestIdentity(t *testing.T) {
	of := func(build func(b *bench)) map[string]string {
		b := newBench(t)
		build(b)
		out := map[string]string{}
		for _, e := range b.group(nil).Entrypoints {
			out[e.Project+" "+e.Match.Hosts[0].Text] = e.Identity
		}
		return out
	}
	alone := of(func(b *bench) { b.run("c2", "p2", "web", keys{"host": "p2.example"}) })
	both := of(func(b *bench) {
		b.run("c1", "p1", "web", keys{"host": "p1.example"}, age(-time.Hour))
		b.run("c3", "p2", "web", keys{"host": "p2.example", "priority": "7"}, age(time.Hour))
		b.run("c4", "p2", "web", keys{"host": "other.example"}, age(time.Hour))
		b.run("c5", "", "", keys{"host": "p5.example"}, age(time.Hour))
	})
	if alone["p2 p2.example"] == "" || alone["p2 p2.example"] != both["p2 p2.example"] {
		t.Errorf("%v became %v", alone, both)
	}
	seen := map[string]string{}
	for what, identity := range both {
		if other := seen[identity]; other != "" || len(identity) != 32 {
			t.Errorf("%s and %s are both %q", what, other, identity)
		}
		seen[identity] = what
	}
	other := of(func(b *bench) { b.run("c2", "p3", "web", keys{"host": "p2.example"}) })
	if other["p3 p2.example"] == alone["p2 p2.example"] {
		t.Error("two projects have one identity")
	}
}
