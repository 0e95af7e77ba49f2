package dashboard

import (
	"fmt"
	"strconv"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// order is what an operator said about a backend, and not about its health.
type order struct {
	Mark    mark
	Does    string // "drained it", "put it into maintenance"
	Was     string // the same of nobody in particular
	Actor   string
	Words   string
	Since   moment
	Ends    moment // not known: until another order
	Service bool   // every backend of the entrypoint, later ones too
}

// orderOf is nil while nobody took the backend out.
func (q *request) orderOf(h *route.BackendHealth) *order {
	a := &h.Admin
	o := &order{Actor: a.Actor, Words: a.Reason, Since: momentOf(a.Since, q.now), Ends: momentOf(a.ExpiresAt, q.now), Service: a.Scope == route.ScopeService}
	switch a.State {
	case route.AdminDrain:
		o.Mark, o.Does = markOf(route.StateDraining), "drained it"
	case route.AdminMaintenance:
		o.Mark, o.Does = markOf(route.StateMaintenance), "put it into maintenance"
	case route.AdminReady:
		return nil
	default:
		return nil
	}
	if o.Was = "It was drained"; a.State == route.AdminMaintenance {
		o.Was = "It was put into maintenance"
	}
	return o
}

// fact is one thing that is known of a backend beside its probes, perhaps with a time
// that counts.
type fact struct {
	Name, Text string
	Level      string
	Lead       string // before the time
	At         moment
}

// layerFacts are those of traffic, slow start and load.
func (q *request) layerFacts(v *router.EntrypointView, h *route.BackendHealth) []fact {
	var list []fact
	if p := h.Passive; p != nil {
		list = append(list, q.trafficFact(&v.Entrypoint.Options.Passive, p))
	}
	if w := h.Warmup; w != nil {
		list = append(list, fact{Name: "Slow start", Text: percentText(w.Percent) + " of its weight", Level: levelCalm, Lead: "all of it", At: momentOf(w.EndsAt, q.now)})
	}
	return list
}

// trafficFact says what requests of clients did to a backend.
func (q *request) trafficFact(rules *route.Passive, p *route.PassiveView) fact {
	f := fact{Name: "Traffic", Level: levelCalm}
	switch p.State {
	case route.PhaseOpen:
		f.Text, f.Level = "ejected"+timesText(p.Ejections)+"; it returns "+returnText(p.Recovery, rules.Trials), levelAlarm
		f.Lead, f.At = "the ejection ends", momentOf(p.Until, q.now)
	case route.PhaseHalfOpen:
		f.Level, f.Text = levelWatch, "ejected"+timesText(p.Ejections)+", on trial: the next request is the trial"
		if p.TrialInProgress {
			f.Text = "ejected" + timesText(p.Ejections) + ", on trial: a trial request is on its way"
		}
	case route.PhaseClosed:
		f.Text = fmt.Sprintf("%d of %d failures that eject it", p.ConsecutiveFailures, p.Threshold)
		if rules.Window > 0 {
			f.Text += " within " + durationText(rules.Window.Milliseconds())
		}
		f.blocked(p.BlockedBy, rules.MaxEjectionPercent)
		if p.ConsecutiveFailures > 0 && f.Level == levelCalm {
			f.Level = levelWatch
		}
	}
	return f
}

func (f *fact) blocked(by string, most int) {
	switch by {
	case "":
		return
	case "last":
		f.Text += "; kept because no other verified backend is left"
	case "cap":
		f.Text += fmt.Sprintf("; kept because no more than %d %% may be ejected (passive.maxEjectionPercent)", most)
	default:
		f.Text += "; kept (" + words(by) + ")"
	}
	f.Level = levelAlarm
}

func timesText(n uint64) string {
	if n < 2 {
		return ""
	}
	return ", " + strconv.FormatUint(n, 10) + " times by now"
}

// returnText says what brings an ejected backend back.
func returnText(r route.Recovery, trials int) string {
	trial := "by a trial request"
	if trials > 1 {
		trial = "by " + strconv.Itoa(trials) + " trial requests"
	}
	switch r {
	case route.RecoverTime:
		return "when the time is over"
	case route.RecoverProbe:
		return "by probes that pass"
	case route.RecoverTrial:
		return trial
	case route.RecoverAuto:
	}
	return trial + " or by probes that pass"
}

// percentText writes a percentage without needless digits.
func percentText(percent float64) string {
	return strconv.FormatFloat(percent, 'f', 0, 64) + " %"
}

// isFull reports whether a backend carries as many requests as it may, by the live
// counter.
func isFull(h *route.BackendHealth) bool {
	most := int64(h.Backend.MaxConnections)
	return most > 0 && inFlightOf(h) >= most
}

func inFlightOf(h *route.BackendHealth) int64 {
	if h.Load != nil {
		return max(h.Load.InFlight.Load(), 0)
	}
	return max(h.InFlight, 0)
}

// flagOf is what a backend is beside its state: full, warming, or "".
func flagOf(h *route.BackendHealth) string {
	switch {
	case isFull(h):
		return "full"
	case h.Warmup != nil:
		return "warming"
	}
	return ""
}

func fullMark() mark { return mark{"full", "full", levelWatch, "full"} }

func flappingMark() mark { return mark{"flapping", "flapping", levelWatch, "flap"} }

func warmingMark() mark { return mark{"warming", "warming", levelCalm, "warming"} }

// flapFlag is how often something changed, nothing while it does not flap.
func (q *request) flapFlag(f *route.Flapping) []mark {
	if !f.At(q.now) {
		return nil
	}
	m := flappingMark()
	m.Word = f.Words()
	return []mark{m}
}

// flagsOf are flagOf with their marks, all that hold, and that it flaps.
func (q *request) flagsOf(h *route.BackendHealth) []mark {
	list := q.flapFlag(route.FlappingOf(h.History))
	if isFull(h) {
		list = append(list, fullMark())
	}
	if h.Warmup != nil {
		m := warmingMark()
		m.Word += ", " + percentText(h.Warmup.Percent)
		list = append(list, m)
	}
	return list
}

// circuit is an entrypoint's breaker as pages show it.
type circuit struct {
	Mark  mark
	Text  string
	Since moment // not known when its history is gone
	Retry moment
}

// circuitOf is nil without a breaker.
func (q *request) circuitOf(v *router.EntrypointView) *circuit {
	b := v.Health.Breaker
	if b == nil {
		return nil
	}
	c := &circuit{Mark: markOf(b.State), Since: momentOf(phaseSince(v.Health.History, b.State), q.now), Retry: momentOf(b.RetryAt, q.now)}
	failed := shareText(b.FailureRatio) + " of the last " + countOf(b.Samples, "request") + " failed"
	switch b.State {
	case route.PhaseOpen:
		c.Text = failed + ", so every request is refused without asking a backend."
	case route.PhaseHalfOpen:
		c.Text = failed + "; one request at a time is let through to see whether it works again."
	case route.PhaseClosed:
		if b.Samples > 0 {
			c.Text = failed + "; it opens at " + shareText(v.Entrypoint.Options.Breaker.Threshold) + "."
		}
	}
	return c
}

// phaseSince is when a breaker came into its phase, by the history of its entrypoint;
// zero when that is not in it.
func phaseSince(history []route.Transition, phase route.PassivePhase) time.Time {
	for i := len(history) - 1; i >= 0; i-- {
		if t := &history[i]; t.Backend == "" && t.To == string(phase) {
			return t.At
		}
	}
	return time.Time{}
}

// isTripped reports whether a breaker refuses every request of an entrypoint that would
// be served otherwise.
func isTripped(v *router.EntrypointView) bool {
	if b := v.Health.Breaker; b == nil || b.State != route.PhaseOpen {
		return false
	}
	state, _, _ := verdictOf(v)
	return state != route.EntrypointDown
}

// Loud reports whether the breaker refuses anything.
func (c *circuit) Loud() bool { return c != nil && c.Mark.Level != levelCalm }

// notes are what a row says of backends that are not simply up or down.
func (q *request) notesOf(v *router.EntrypointView) []mark {
	count := map[string]int{}
	for i := range v.Health.Backends {
		h := &v.Health.Backends[i]
		count[string(h.State)]++
		if f := flagOf(h); f != "" {
			count[f]++
		}
	}
	list := q.flapFlag(v.Health.Flapping())
	if b := v.Health.Breaker; b != nil && b.State != route.PhaseClosed && !isTripped(v) {
		list = append(list, markOf(b.State))
	}
	for _, m := range []mark{
		markOf(route.StateEjected), markOf(route.StateTrial), markOf(route.StateMaintenance), markOf(route.StateDraining), fullMark(), warmingMark(),
	} {
		if n := count[m.State]; n > 0 {
			m.Word = grouped(n) + " " + noteWord(m.Word)
			list = append(list, m)
		}
	}
	return list
}

func noteWord(word string) string {
	switch word {
	case "maintenance":
		return "in maintenance"
	case "trial":
		return "on trial"
	}
	return word
}
