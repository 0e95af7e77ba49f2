package healthcheck

import (
	"fmt"

	"fairlead/router/route"
)

// storm is what clients got from a backend whose probes only see its port: where most
// answers are errors of the application, the check is too weak to tell (health.md,
// "explain wording model").
type storm struct {
	on bool // it is looked at since window
	// window is where the present window began, whole where the last one that is whole did.
	window, whole answers
	judged        bool // there is one that is whole
}

// answers counts what clients got from a placement, and what of it were 5xx.
type answers struct{ of, bad uint64 }

func (p *placement) answers() answers {
	c := p.current.Load.Traffic.Counts()
	return answers{c.Requests() - c.Classes[0], c.Classes[5]}
}

// enoughAnswers is how many answers make a window.
const enoughAnswers = 20

// weather looks at a placement's answers, once per probe: the counters are those of the data
// plane, and a window ends with the first probe that finds enough of them.
func (p *placement) weather() {
	s := &p.storm
	if p.current.Load == nil || p.entry.entrypoint.Protocol != route.HTTP || p.check.spec.Check.Type != route.ProbeTCP {
		*s = storm{}
		return
	}
	switch now := p.answers(); {
	case !s.on:
		*s = storm{on: true, window: now}
	case now.of-s.window.of >= enoughAnswers:
		*s = storm{on: true, window: now, whole: s.window, judged: true}
	}
}

// stormHint is the advice for a backend that is up by TCP only while most of its answers
// are errors; "" without any. It counts those of the last whole window and all since then.
func (p *placement) stormHint() string {
	s := &p.storm
	if p.shown != route.StateUp || !s.judged || p.current.Load == nil {
		return ""
	}
	now := p.answers()
	of, bad := now.of-s.whole.of, now.bad-s.whole.bad
	if bad*2 < of {
		return ""
	}
	return fmt.Sprintf("%d of its last %d answers to clients were 5xx, which a check by TCP does not see: "+
		"set healthCheck.path to one that shows whether the application works; %s says why they fail", bad, of, logs(p.backend()))
}
