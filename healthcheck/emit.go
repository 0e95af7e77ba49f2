package healthcheck

import (
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// Causes of transitions (json.md).
const (
	causeProbe    = "probe"
	causeTimer    = "timer"
	causeTraffic  = "traffic"
	causeOperator = "operator"
	causeProvider = "provider"
	causeConfig   = "config"
	causeStart    = "start"
	causeRestore  = "restore"
)

// Layers of transitions (json.md).
const (
	layerActive   = "active"
	layerPassive  = "passive"
	layerAdmin    = "admin"
	layerProvider = "provider"
	layerRoute    = "route"
)

// notice is what a step tells the world once no lock is held.
type notice struct {
	transition route.Transition
	what       change
	entry      bool           // of the entrypoint itself
	idle       route.Upstream // its idle connections are closed
	tunnels    route.Upstream // its tunnels of the entrypoint with this key are closed
	key        string
	local      string  // a local fault, instead of a transition
	probe      *traced // the line of a probe, instead of a transition
}

// outbox keeps notices in the order of application until they are sent.
type outbox struct {
	mu      sync.Mutex
	notices []notice
	sending bool
}

func (o *outbox) add(n notice) {
	o.mu.Lock()
	o.notices = append(o.notices, n)
	o.mu.Unlock()
}

// next hands out the waiting notices to the one sender; nil ends its turn. Whoever
// comes while another sends leaves its notices to that one, so nobody waits and the
// order holds.
func (o *outbox) next(turn bool) []notice {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sending != turn {
		return nil
	}
	out := o.notices
	o.notices = nil
	o.sending = len(out) > 0
	return out
}

// flush sends what the last steps had to say.
func (e *Engine) flush() {
	for batch := e.outbox.next(false); batch != nil; batch = e.outbox.next(true) {
		for i := range batch {
			e.send(&batch[i])
		}
	}
}

// down notes what becomes of the connections of a backend that was taken out.
func (n *notice) down(p *placement, mode route.OnDown) {
	if mode != route.OnDownKeep {
		n.idle = p.current.Upstream
	}
	if mode == route.OnDownClose {
		n.tunnels, n.key = p.current.Upstream, p.entry.key
	}
}

func (e *Engine) send(n *notice) {
	switch {
	case n.local != "":
		e.cfg.Log.Warn().Str(route.FieldCode, localCode).Str(route.FieldMessage, n.local).
			Str(route.FieldHint, localHint).Msg("probes fail in the router itself")
		return
	case n.probe != nil:
		n.probe.write(&e.cfg.Log)
		return
	}
	if n.idle != nil {
		n.idle.CloseIdle()
	}
	if n.tunnels != nil {
		n.tunnels.CloseTunnels(n.key)
	}
	e.log(n)
	if e.cfg.OnTransition != nil {
		e.cfg.OnTransition(n.transition)
	}
}

// emit notes one step of a placement: one transition, even when several layers changed.
func (e *Engine) emit(p *placement, what change, cause string, now time.Time) {
	from, to := p.shown, p.state()
	if from == to && what == changeNone {
		return
	}
	t := p.transition(from, to, what, cause, now)
	t.Rev = e.rev
	p.ofTraffic(&t, from, to, what)
	n := notice{what: what}
	if from != to {
		if p.shown = to; cause != causeStart { // what is out from its start is so since its probes say so
			p.since = now
		}
		p.counters.Transitions++
		t.Debug = to == route.StateLeaving || to == route.StatePending || to == route.StateUnchecked && !comesUp(from)
		if to == route.StateDown || to == route.StateEjected || to == route.StateMaintenance {
			n.down(p, p.entry.entrypoint.Options.OnDown)
		}
		if to == route.StateMaintenance {
			n.idle = p.current.Upstream // whatever onDown says of failures
		}
	} else {
		t.Debug = what != changeBlocked && (what != changeReason || to != route.StateDown)
	}
	t.Debug = hushed(&t, what)
	if from != to || !t.Debug {
		p.history = remember(p.history, t)
	}
	p.replaced = route.Admin{}
	n.transition = t
	e.notify(n)
}

// hushed reports whether a transition is only worth a line at debug level: Debug, where no
// layer knows better.
func hushed(t *route.Transition, what change) bool {
	switch {
	case t.Layer == layerAdmin:
		return t.From == t.To && what != changeOrder
	case t.Layer == layerPassive && (t.From != t.To || t.Cause == causeOperator):
		return false // readmitted, whatever it is then; and what an operator does is told, whatever hides it
	default:
		return t.Debug
	}
}

// stays is the level and the message of a line about a backend whose state stays the same.
func stays(what change) (zerolog.Level, string) {
	switch what {
	case changeEjected: // by an order, behind another state
		return zerolog.WarnLevel, "backend ejected"
	case changeReadmitted:
		return zerolog.InfoLevel, "backend readmitted"
	default:
		return zerolog.InfoLevel, "backend reason changed"
	}
}

// comesUp reports whether a backend that leaves a state to be unchecked comes up by it, as
// one that is probed does when it gets to be up.
func comesUp(from route.State) bool {
	return from == route.StateDown || from == route.StateGated || from == route.StatePending
}

// notify queues a notice. Nothing is told after the stop (race rule R16).
func (e *Engine) notify(n notice) {
	if !e.stopped {
		e.outbox.add(n)
	}
}

// announce queues what the step changed about entrypoints.
func (e *Engine) announce() {
	for _, n := range e.deferred {
		e.notify(n)
	}
	e.deferred = e.deferred[:0]
}

func (p *placement) transition(from, to route.State, what change, cause string, now time.Time) route.Transition {
	b := p.backend()
	t := route.Transition{
		At: now, Entrypoint: p.entry.id, Backend: b.ID, Address: b.Address(), Layer: layerActive,
		From: string(from), To: string(to), Cause: cause, OK: p.active.ok, Fail: p.active.fail,
		Threshold: p.rules.unhealthy, InRotation: p.in,
	}
	if b.Container != nil {
		t.Container = b.Container.Name
	}
	switch to {
	case route.StateGated, route.StateLeaving:
		t.Layer = layerProvider
	case route.StateDraining, route.StateMaintenance:
		t.Layer, t.Actor, t.Reason = layerAdmin, p.admin.Actor, p.admin.Reason
	case route.StateEjected, route.StateTrial:
		t.Layer = layerPassive
	case route.StateUp:
		t.Threshold = p.rules.healthy
	default:
	}
	switch cause {
	case causeProvider:
		t.Layer = layerProvider
	case causeOperator:
		t.Layer, t.Actor, t.Reason = layerAdmin, p.admin.Actor, p.admin.Reason
	}
	t.Kind, t.Message = p.cause(to)
	ended := from == route.StateDraining || from == route.StateMaintenance
	switch {
	case what == changeOrder && p.replaced.State != "":
		t.Message += instead(&p.replaced, &p.admin)
	case p.admin.State == route.AdminReady && (cause == causeOperator || cause == causeTimer && ended):
		t.Layer, t.Actor, t.Reason = layerAdmin, p.admin.Actor, p.admin.Reason
		t.Kind, t.Message = p.readyCause(to, cause)
	}
	return t
}

// cause is the kind and the message that belong to a shown state.
func (p *placement) cause(state route.State) (route.Kind, string) {
	switch state {
	case route.StateMaintenance, route.StateDraining:
		return p.adminCause()
	case route.StateEjected, route.StateTrial:
		return p.passive.cause()
	case route.StateDown:
		return p.active.kind, p.active.message
	case route.StateGated:
		if p.backend().Provider == route.ProviderStarting {
			return route.KindDockerStarting, "Docker's HEALTHCHECK is still starting, and dockerHealth=require waits for it"
		}
		return route.KindDockerUnhealthy, "Docker's HEALTHCHECK says unhealthy"
	case route.StateLeaving:
		return route.KindLeaving, "the container is stopping"
	case route.StatePending:
		if p.backend().Provider == route.ProviderStarting {
			return route.KindDockerStarting, "Docker's HEALTHCHECK is still starting"
		}
	default:
	}
	switch {
	case p.active.fail > 0:
		return route.KindNone, p.active.message
	case p.last != nil && p.last.OK:
		return route.KindNone, p.last.Message
	}
	return route.KindNone, ""
}

// log writes the one line of a transition.
func (e *Engine) log(n *notice) {
	t := &n.transition
	level, msg := lineOf(n)
	line := e.cfg.Log.WithLevel(level)
	if !line.Enabled() {
		return
	}
	line.Str(route.FieldEntrypoint, t.Entrypoint)
	if t.Backend != "" {
		line.Str(route.FieldBackend, t.Backend).Str(route.FieldAddress, t.Address).Str(route.FieldContainer, t.Container)
	}
	line.Str(route.FieldFrom, t.From).Str(route.FieldTo, t.To).Str(route.FieldCause, t.Cause).
		Str(route.FieldKind, string(t.Kind)).Str(route.FieldMessage, t.Message)
	if t.Actor != "" || t.Reason != "" {
		line.Str(route.FieldActor, t.Actor).Str(route.FieldReason, t.Reason)
	}
	if t.Backend != "" {
		line.Int(route.FieldOK, t.OK).Int(route.FieldFail, t.Fail).Int(route.FieldThreshold, t.Threshold)
	}
	line.Bool(route.FieldInRotation, t.InRotation).Uint64(route.FieldRev, t.Rev).Msg(msg)
}

// lineOf is the level and the message of a transition's line (json.md, "Log fields").
func lineOf(n *notice) (zerolog.Level, string) {
	t := &n.transition
	switch {
	case n.entry && t.To == string(route.PhaseOpen):
		return zerolog.WarnLevel, "route circuit opened"
	case n.entry && t.To == string(route.PhaseClosed):
		return zerolog.InfoLevel, "route circuit closed"
	case n.entry && t.To == string(route.EntrypointPanic):
		return zerolog.WarnLevel, "route panic started"
	case n.entry && !t.Debug && t.Down.Outage():
		return zerolog.WarnLevel, "route down"
	case n.entry && t.From == string(route.EntrypointPanic):
		return zerolog.InfoLevel, "route panic ended"
	case n.entry && !t.Debug:
		return zerolog.InfoLevel, "route up"
	case n.entry:
		return zerolog.DebugLevel, "route state changed"
	case t.Renamed != "":
		return zerolog.InfoLevel, overOf(route.State(t.From))
	case n.what == changeBlocked && t.From == t.To:
		return zerolog.WarnLevel, "ejection blocked"
	case t.From == t.To && !t.Debug:
		return stays(n.what)
	case t.From == t.To:
		return zerolog.DebugLevel, fmt.Sprintf("backend %s", n.what)
	case t.To == string(route.StateDraining):
		return zerolog.InfoLevel, "backend drain"
	case t.To == string(route.StateMaintenance):
		return zerolog.InfoLevel, "backend maintenance"
	case t.Layer == layerAdmin && route.State(t.To).Faulty(): // nothing else tells the fault
		return zerolog.WarnLevel, "backend ready"
	case t.Layer == layerAdmin:
		return zerolog.InfoLevel, "backend ready"
	case t.To == string(route.StateEjected):
		return zerolog.WarnLevel, "backend ejected"
	case t.To == string(route.StateTrial):
		return zerolog.InfoLevel, "backend trial"
	case t.Layer == layerPassive:
		return zerolog.InfoLevel, "backend readmitted"
	case t.To == string(route.StateDown), t.To == string(route.StateGated):
		return zerolog.WarnLevel, "backend down"
	case t.To == string(route.StateUp), t.To == string(route.StateUnchecked) && comesUp(route.State(t.From)):
		return zerolog.InfoLevel, "backend up"
	}
	return zerolog.DebugLevel, "backend " + t.To
}

// overOf is the message of the line by which what was told of a state is over.
func overOf(from route.State) string {
	switch from {
	case route.StateDraining, route.StateMaintenance:
		return "backend ready"
	case route.StateEjected, route.StateTrial:
		return "backend readmitted"
	default:
		return "backend up"
	}
}
