package healthcheck

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// standingIn makes the placement of the first candidate, in an entry with a decision.
func standingIn(t *testing.T, r *rules, recovery route.Recovery, d *decision, all []candidate) *placement {
	t.Helper()
	o := route.DefaultOptions()
	o.Panic, o.PanicThreshold, o.Passive.KeepServing = r.panic, r.threshold, r.ejectedServe
	o.Passive.Failures, o.Passive.Recovery = 3, recovery
	en := &entry{id: "http_api", entrypoint: &route.Entrypoint{ID: "http_api", Protocol: route.HTTP, Options: o}, decision: *d}
	if d.reason == route.ReasonMisconfigured {
		en.entrypoint.FailClosed = &route.FailClosed{Label: "auth.basic", Code: "E113"}
	}
	c := &all[0]
	b := backend(c.id, "10.0.0.1", httpCheck("/health"), func(b *route.Backend) { b.Weight, b.Provider = c.weight, c.provider })
	if c.require {
		b.Docker = route.DockerHealthRequire
	}
	p := &placement{entry: en, current: &route.Placement{Backend: b}, admin: route.Admin{State: c.admin}, rules: activeRules{unhealthy: 1, healthy: 1, initial: c.initial}}
	p.active = active{status: c.active, serving: c.serving, succeeded: c.succeeded, blame: blame{message: "connection refused"}, wentBad: c.wentBad}
	if c.active != route.StateUnchecked {
		p.check = &check{spec: newSpec(b.Check, &b)}
	}
	if c.founding {
		p.founding = &startup{}
	}
	rules := p.passiveRules()
	p.passive = newEjector(nil, p, &rules)
	p.passive.state.phase, p.passive.state.why = c.phase, "3 requests in a row failed"
	if got := p.candidate(); got != *c {
		t.Fatalf("a placement of\n%+v is\n%+v", *c, got)
	}
	p.in, p.reason, p.shown = d.in[0], d.reasons[0], p.state()
	return p
}

// What a text says of one that serves, and of one that does not: one of the words it must
// hold, and none of the others.
var (
	saysIn  = regexp.MustCompile(`In rotation|[Ss]till gets requests|it serves|counts as up until|goes on serving|On trial after|[Tt]he next request is its trial`)
	saysOut = regexp.MustCompile(`Out of rotation|[Ss]tanding by|gets nothing|Gets nothing|serve meanwhile|primaries serve|trial waits|then it waits|keeps it out|serves another`)
)

// scene is what a text may say of one backend: whether it serves and why, and whether
// verified ones and primaries do.
type scene struct {
	of                      int
	in, verified, primaries bool
	reason                  route.RotationReason
}

func sceneOf(n int, d *decision, all []candidate) scene {
	w := scene{of: n, in: d.in[0], reason: d.reasons[0]}
	for i := range all {
		s := specOf(&all[i], &rules{})
		w.verified = w.verified || d.in[i] && s.verified && all[i].phase == route.PhaseClosed
		w.primaries = w.primaries || d.in[i] && all[i].weight > 0
	}
	return w
}

// contradiction says what is wrong with a text, "" when nothing is.
func (w *scene) contradiction(text string) string {
	serving, out := saysIn.MatchString(text), saysOut.MatchString(text)
	holds := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case w.in && (!serving || out), !w.in && (serving || !out):
		return "it does not say whether it serves, or the opposite"
	case !w.verified && holds("verified backends"):
		return "no verified one serves"
	case w.verified && (holds("others serve") || holds("nothing verified exists") || holds("nothing else is verified")):
		return "a verified one serves"
	case !w.primaries && holds("primaries serve"):
		return "no primary serves"
	}
	return ""
}

// TestExplanationsAgreeWithTheRotation: for two backends in every mixture of the layers
// that the operator leaves to themselves, what is said of one is what the rotation does.
func TestExplanationsAgreeWithTheRotation(t *testing.T) {
	var all []candidate
	for _, c := range everyCandidate() {
		if c.admin == route.AdminReady {
			all = append(all, c)
		}
	}
	beside := representatives()
	for part, r := range everyRules() {
		if r.taken { // never what is published
			continue
		}
		recovery := []route.Recovery{route.RecoverAuto, route.RecoverTime, route.RecoverProbe}[part%3]
		t.Run(fmt.Sprintf("%d-%s-%d-%v-%s", part, r.panic, r.threshold, r.ejectedServe, recovery), func(t *testing.T) {
			t.Parallel()
			seen := map[scene]bool{}
			for i := range all {
				for j := range beside {
					mixed := mixture(all[i], beside[j])
					d := rotate(&r, mixed)
					if j == 0 {
						d = closed(len(mixed))
					}
					w := sceneOf(i, &d, mixed)
					if seen[w] {
						continue
					}
					seen[w] = true
					p := standingIn(t, &r, recovery, &d, mixed)
					h := route.BackendHealth{State: p.shown, InRotation: p.in, RotationReason: p.reason, NextCheckAt: t0.Add(time.Second)}
					text := explain(p, &h, t0)
					if why := w.contradiction(text); why != "" {
						t.Errorf("%s: %s in=%v %s: %s\n%+v\n%+v", why, p.shown, p.in, p.reason, text, r, mixed)
					}
				}
			}
		})
	}
}

// TestTrialsThatWait say for what, and not that the next request is one.
func TestTrialsThatWait(t *testing.T) {
	for _, row := range []struct {
		reason route.RotationReason
		phase  route.PassivePhase
		want   string
	}{
		{route.InTrial, route.PhaseHalfOpen, "The next request is its trial; a failure ejects it again."},
		{route.InPanicThreshold, route.PhaseHalfOpen, "The next request is its trial; a failure ejects it again."},
		{route.OutDockerStarting, route.PhaseHalfOpen, "Its trial waits for Docker's HEALTHCHECK, which is still starting; a failure ejects it again."},
		{route.OutInitialDown, route.PhaseHalfOpen, "Its trial waits for the first success of its check (healthCheck.initial=down); a failure ejects it again."},
		{route.OutEjected, route.PhaseHalfOpen, "Its trial waits for the verdict of its check; a failure ejects it again."},
		{route.OutBackupStandby, route.PhaseHalfOpen, "Its trial waits as long as primaries serve; a failure ejects it again."},
		{route.OutEjected, route.PhaseOpen, "It is ejected until 00:01:00 UTC; then one request at a time is its trial."},
		{route.OutDockerStarting, route.PhaseOpen, "It is ejected until 00:01:00 UTC; then its trial waits for Docker's HEALTHCHECK, which is still starting."},
	} {
		s := passive{phase: row.phase, openedAt: time.Unix(30, 0), until: time.Unix(60, 0)}
		p := &placement{}
		if got := p.comeback(&passiveRules{Passive: route.Passive{Trials: 1, Recovery: route.RecoverTrial}}, &s, &route.BackendHealth{RotationReason: row.reason}); got != row.want {
			t.Errorf("%s %s:\n got %s\nwant %s", row.phase, row.reason, got, row.want)
		}
	}
	s := passive{phase: route.PhaseHalfOpen, lease: 1, expires: time.Unix(60, 0)}
	if got := trialText(&passiveRules{}, &s, s.waits(route.OutEjected)); got != "A trial request is on its way, until 00:01:00 UTC at most; a failure ejects it again." {
		t.Error(got)
	}
}
