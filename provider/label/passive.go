package label

import (
	"slices"

	"fairlead/router/route"
)

// passive reads passive.*, after the check: one of its ways back needs probes that tell.
func (s *scope) passive() {
	p := &s.decl.Options.Passive
	p.Failures = read(s, "passive.failures", asInt)
	p.Window = read(s, "passive.window", values.duration)
	p.KeepServing = read(s, "passive.panic", asBool)
	p.Status = read(s, "passive.status", asFailingStatuses)
	p.Latency = read(s, "passive.latency", values.duration)
	p.EjectionTime = read(s, "passive.ejectionTime", values.duration)
	p.MaxEjectionTime = read(s, "passive.maxEjectionTime", values.duration)
	p.MaxEjectionPercent = read(s, "passive.maxEjectionPercent", asInt)
	p.Recovery = route.Recovery(read(s, "passive.recovery", values.choice))
	p.Trials = read(s, "passive.trials", asInt)
	p.FeedsActive = read(s, "passive.feedsActive", asBool)
	var also []string
	if s.decl.Options.Breaker.On() {
		also = []string{"passive.status", "passive.latency"} // they say what the circuit breaker counts
	}
	s.dependents("passive.", "passive.failures", p.On(), also...)
	s.clientErrors(p)
	if p.On() {
		s.ejectionTimes(p)
		s.recovery(p)
	}
}

// dependents names the labels of a family that do nothing without its base, but for those
// that have another use.
func (s *scope) dependents(family, base string, on bool, useful ...string) {
	if !on {
		s.idle(family, base, "set "+s.label(base)+", or remove the label", "there is no usable "+base+": the label has no effect without it", useful...)
	}
}

// idle names the labels of a family besides its base that are right and do nothing.
func (s *scope) idle(family, base, hint, why string, useful ...string) {
	for _, e := range s.sortedEntries() {
		if e.key == nil || e.key.Name == base || !hasPrefixFold(e.key.Name, family) || e.key.values.problem(e.text) != nil ||
			slices.Contains(useful, e.key.Name) {
			continue
		}
		s.add(e.key.BadValue, e.label, show(e.key, e.text), hint, "%s", why)
	}
}

func hasPrefixFold(name, prefix string) bool {
	return len(name) >= len(prefix) && fold(name[:len(prefix)]) == fold(prefix)
}

// clientErrors warns of statuses that a client brings about at will.
func (s *scope) clientErrors(p *route.Passive) {
	e, ok := s.get("passive.status")
	if !ok || e.key.values.problem(e.text) != nil {
		return
	}
	for code := 400; code < 500; code++ {
		if p.Status.Contains(code) {
			s.add("W130", e.label, show(e.key, e.text), "list statuses from 500 on",
				"a 4xx is the client's mistake: anybody could eject a backend by asking for what is not there")
			return
		}
	}
}

func (s *scope) ejectionTimes(p *route.Passive) {
	if p.MaxEjectionTime >= p.EjectionTime {
		return
	}
	e, ok := s.get("passive.maxEjectionTime")
	if !ok || e.key.values.problem(e.text) != nil { // only the default is too short
		p.MaxEjectionTime = p.EjectionTime
		return
	}
	s.add("W128", e.label, show(e.key, e.text), "set "+e.label+" to "+short(p.EjectionTime)+" or more",
		"shorter than the first ejection of %s, which lasts its full time: that is used", short(p.EjectionTime))
	p.MaxEjectionTime = p.EjectionTime
}

// recovery finds ways back that could never be taken.
func (s *scope) recovery(p *route.Passive) {
	check := s.decl.Check
	tells := check != nil && slices.Contains([]route.ProbeType{route.ProbeHTTP, route.ProbeGRPC, route.ProbeWebSocket}, check.Type)
	if e, ok := s.get("passive.recovery"); ok && p.Recovery == route.RecoverProbe && !tells {
		hint, why := "set "+s.label("healthCheck.path"), "recovery by probes needs a probe of type http, grpc or websocket"
		if check == nil {
			hint, why = "remove "+s.label("healthCheck"), "recovery by probes needs a check, which healthCheck switches off"
		}
		s.add("W128", e.label, show(e.key, e.text), hint+", or set another recovery", "%s, and without one nothing would come back: auto is used", why)
		p.Recovery = route.RecoverAuto
	}
	if e, ok := s.get("passive.trials"); ok && p.Recovery == route.RecoverProbe && e.key.values.problem(e.text) == nil {
		s.add("W128", e.label, show(e.key, e.text), "remove the label", "recovery by probes alone makes no trials: the label has no effect")
	}
	if e, ok := s.get("passive.feedsActive"); ok && p.FeedsActive && check == nil {
		s.add("W128", e.label, show(e.key, e.text), "remove the label, or switch the check on", "nothing is probed, so there is nothing to feed: the label has no effect")
	}
}
