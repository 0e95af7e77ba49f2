package label

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/router/route"
)

// crowd makes n containers with every kind of conflict, from a seed.
func crowd(t testing.TB, n int, seed uint64) []Input {
	rnd := rand.New(rand.NewPCG(seed, 1))
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	presences := []Presence{Present, Present, Present, Starting, Unhealthy, Leaving, Paused, Restarting, NoAddress, Retained}
	b := newBench(t)
	for i := range n {
		b.run(fmt.Sprintf("%06x", i), pick("", "p", "q", "r"), pick("web", "api"), keys{
			"path": pick("/", "/a", "/b", "["), "priority": pick("1", "2"), pick("auth.basci", "x", "headers.X-A", "weight"): pick("1", "2"),
			"sozune.http." + pick("web-p", "Web", "other") + ".host": pick("a.b", "c.d", "https://x"),
		}, age(time.Duration(rnd.IntN(20))*time.Hour), is(presences[rnd.IntN(len(presences))]))
	}
	return b.inputs
}

// TestGroupIsDeterministic: neither the order of the input nor a second pass over
// its own claims changes anything.
func TestGroupIsDeterministic(t *testing.T) {
	for seed := range uint64(30) {
		in := crowd(t, 40, seed)
		want := Group(in, nil)
		for pass := range 3 {
			rand.New(rand.NewPCG(seed, uint64(pass))).Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
			got := Group(in, want.Claims)
			if diff := cmp.Diff(want, got, plain); diff != "" {
				t.Fatalf("seed %d, pass %d: %s", seed, pass, diff)
			}
		}
		checkInvariants(t, in, want)
	}
}

// checkInvariants holds what is true of every result.
func checkInvariants(t *testing.T, in []Input, out Grouped) {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range out.Entrypoints {
		if ids[e.ID] {
			t.Errorf("id %s is given twice", e.ID)
		}
		ids[e.ID] = true
		if len(e.Backends)+len(e.Absent) == 0 || e.Claim.IsZero() || len(e.Match.Hosts) == 0 {
			t.Errorf("%s has nobody, no claim or no host", e.ID)
		}
		if !slices.IsSortedFunc(e.Backends, func(a, b route.Backend) int { return strings.Compare(a.ID, b.ID) }) {
			t.Errorf("%s: backends are not sorted", e.ID)
		}
	}
	checkRejected(t, in, out)
	if !slices.IsSortedFunc(out.Entrypoints, func(a, b *route.Entrypoint) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("entrypoints are not sorted")
	}
	protected := map[string]bool{}
	for _, i := range in {
		for _, d := range i.Parsed.Declarations {
			if d.FailClosed != nil {
				protected[i.Candidate.ID+d.Service] = true
			}
		}
	}
	for _, e := range out.Entrypoints {
		for _, b := range e.Backends {
			if protected[b.Container.ID+e.Name] && e.FailClosed == nil {
				t.Errorf("%s serves %s, which asks for protection", e.ID, b.ID)
			}
		}
	}
}

// checkRejected: a candidate that is there and enabled is in an entrypoint, or among the
// rejected with a code that can be explained, and never in both.
func checkRejected(t *testing.T, in []Input, out Grouped) {
	t.Helper()
	places := map[string]int{}
	for _, e := range out.Entrypoints {
		for _, b := range e.Backends {
			places[b.Container.ID] = 1
		}
		for _, a := range e.Absent {
			places[a.CandidateID] = 1
		}
	}
	for _, r := range out.Rejected {
		places[r.CandidateID]++
		if _, ok := Explain(r.Code); r.Code != "" && !ok || r.Reason == "" {
			t.Errorf("rejected without a reason: %+v", r)
		}
	}
	for i := range in {
		if n := places[in[i].Candidate.ID]; in[i].Parsed.Enabled && in[i].Presence != Retained && n != 1 {
			t.Errorf("%s is in %d places", in[i].Candidate.ID, n)
		}
	}
	if !slices.IsSortedFunc(out.Rejected, func(a, b route.Rejected) int { return strings.Compare(a.CandidateID, b.CandidateID) }) {
		t.Error("rejected candidates are not sorted")
	}
}

func BenchmarkParse(b *testing.B) {
	labels := map[string]string{"sozune.enable": "true", "com.docker.compose.project": "p"}
	for _, k := range []string{"host", "path", "port", "priority", "headers.<Name>", "healthCheck.interval", "methods", "weight"} {
		labels["sozune.http.web."+writing.Replace(k)] = samples[k].good[0]
	}
	c := Candidate{ID: "c1", Labels: labels}
	for b.Loop() {
		Parse(Config{}, c)
	}
}

func BenchmarkGroup(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		spread := newBench(b)
		for i := range n {
			spread.run(fmt.Sprintf("%06x", i), fmt.Sprintf("p%d", i/3), "web", keys{"host": fmt.Sprintf("h%d.example", i/3)})
		}
		one := newBench(b)
		for i := range n {
			one.run(fmt.Sprintf("%06x", i), "p", "web", keys{"priority": fmt.Sprint(i % 7)})
		}
		b.Run(fmt.Sprintf("spread=%d", n), func(b *testing.B) {
			for b.Loop() {
				Group(spread.inputs, nil)
			}
		})
		b.Run(fmt.Sprintf("one=%d", n), func(b *testing.B) {
			for b.Loop() {
				Group(one.inputs, nil)
			}
		})
	}
}
