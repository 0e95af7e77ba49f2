package healthcheck

import (
	"fmt"

	"fairlead/router/route"
)

// storm is what clients got from a backend whose probes only see its port: where most
// answers are errors of the application, the check is too weak to tell (health.md,
// "explain wording model").
type storm struct {
	on bool // it is looked at since the counters below
	// answers and errors are the placement's counters when the window began.
	answers, errors uint64
	// of and bad are the answers of the last whole window, and those with 5xx among them.
	of, bad uint64
}

// enoughAnswers is how many answers make a window.
const enoughAnswers = 20

// weather looks at a placement's answers, once per probe: the counters are those of the data
// plane, and a window ends with the first probe that finds enough of them.
func (p *placement) weather() {
	s, load := &p.storm, p.current.Load
	if load == nil || p.entry.entrypoint.Protocol != route.HTTP || p.check.spec.Check.Type != route.ProbeTCP {
		*s = storm{}
		return
	}
	c := load.Traffic.Counts()
	answers, errors := c.Requests()-c.Classes[0], c.Classes[5]
	switch of := answers - s.answers; {
	case !s.on:
		*s = storm{on: true, answers: answers, errors: errors}
	case of >= enoughAnswers:
		*s = storm{true, answers, errors, of, errors - s.errors}
	}
}

// stormHint is the advice for a backend that is up by TCP only while most of its answers
// are errors; "" without any.
func (p *placement) stormHint() string {
	s := &p.storm
	if p.shown != route.StateUp || s.of == 0 || s.bad*2 < s.of {
		return ""
	}
	return fmt.Sprintf("%d of its last %d answers to clients were 5xx, which a check by TCP does not see: "+
		"set healthCheck.path to one that shows whether the application works; %s says why they fail", s.bad, s.of, logs(p.backend()))
}
