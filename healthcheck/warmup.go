package healthcheck

import (
	"fmt"
	"time"

	"fairlead/router/route"
)

// warmup is a placement's slow start. The zero value is none.
type warmup struct {
	began time.Time // zero while it is none
	span  time.Duration
	min   int // percent
}

func (w *warmup) on() bool { return !w.began.IsZero() }

// percent is the whole part of its weight that the placement gets, 1 to full.
func (w *warmup) percent(now time.Time) int {
	if !w.on() || w.span <= 0 {
		return full
	}
	passed := max(now.Sub(w.began), 0)
	if passed >= w.span {
		return full
	}
	return min(max(int(passed*full/w.span), w.min, 1), full)
}

func (w *warmup) view(now time.Time) *route.WarmupView {
	if !w.on() {
		return nil
	}
	return &route.WarmupView{Percent: float64(w.percent(now)), EndsAt: w.began.Add(w.span)}
}

// warmUp begins or ends a placement's slow start as its state changes: a newcomer and
// one that came back begin cold, if others are warm. The state that was shown last is
// the one before. One that is pending because its check was turned on is no newcomer:
// it had its share all the time.
func (e *Engine) warmUp(p *placement, now time.Time) {
	b, from, to, served := p.backend(), p.shown, p.state(), p.proving
	p.proving = p.active.serving
	switch {
	case b.SlowStart <= 0, !p.established():
		p.warm = warmup{}
		return
	case !cold(from), from == route.StatePending && (served || to == route.StateUnchecked):
		return
	}
	if e.begun.IsZero() || now.Sub(e.begun) < b.SlowStart || !p.entry.otherServes(p) {
		return
	}
	p.warm = warmup{began: now, span: b.SlowStart, min: b.SlowStartMin}
}

// established reports whether the placement is one that a share belongs to: verified, or
// not probed, or not yet.
func (p *placement) established() bool {
	switch p.state() {
	case route.StateUp, route.StateUnchecked:
		return true
	case route.StatePending:
		return p.active.serving
	default:
		return false
	}
}

// cold reports whether a backend that comes from the state begins cold.
func cold(s route.State) bool {
	switch s {
	case route.StatePending, route.StateDown, route.StateEjected, route.StateTrial, route.StateMaintenance:
		return true
	default:
		return false
	}
}

// otherServes reports whether another placement is verified and warm: someone has to
// take what a cold one does not.
func (en *entry) otherServes(p *placement) bool {
	for _, other := range en.placements {
		if other != p && other.in && !other.warm.on() && other.established() {
			return true
		}
	}
	return false
}

// settleWarmup brings new settings of a slow start into force.
func (e *Engine) settleWarmup(p *placement, _ time.Time) {
	b := p.backend()
	if !p.warm.on() {
		return
	}
	if p.warm.span, p.warm.min = b.SlowStart, b.SlowStartMin; b.SlowStart <= 0 {
		p.warm = warmup{}
	}
}

// tickWarmup ends the slow starts whose time is over and reports whether any weight
// has changed.
func (en *entry) tickWarmup(now time.Time) (changed bool) {
	for _, p := range en.placements {
		if !p.warm.on() {
			continue
		}
		changed = true
		if p.warm.percent(now) == full {
			p.warm = warmup{}
		}
	}
	return changed
}

// share is the part of its weight that it gets now and when it gets all, with a space
// before it; "" unless its slow start decides.
func (p *placement) share(h *route.BackendHealth) string {
	if h.Warmup == nil || !p.warms() {
		return ""
	}
	return fmt.Sprintf(" with %.0f %% of its weight, all of it at %s (slowStart)", h.Warmup.Percent, clock(h.Warmup.EndsAt))
}

// warms reports whether its slow start decides its weight: never where it is the only
// one, nor in panic.
func (p *placement) warms() bool {
	return p.warm.on() && p.in && !p.entry.decision.panic && p.entry.counts.inRotation > 1
}
