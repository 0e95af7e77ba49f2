package dashboard

import (
	"context"
	"net/http"
	"slices"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// Operator carries out the words of people about backends: the health engine does. The
// API has the same operations. It is safe for concurrent use.
type Operator interface {
	// Order gives an order about one backend of an entrypoint. The error is a
	// *route.OrderError when the order is refused.
	Order(entrypoint, backend string, o route.Order) error
	// ProbeNow probes a backend at once. The result counts as any other when counted is
	// set; otherwise it changes nothing. Errors are as those of Order.
	ProbeNow(ctx context.Context, entrypoint, backend string, counted bool) (route.ProbeReport, error)
}

// act is something that the caller may do to a backend.
type act struct {
	Name  string // of the operation, as in the API
	Label string // on the button
}

// actProbe is the one that is no order.
const actProbe = "probe"

func labelOf(name string) string {
	switch name {
	case string(route.OrderDrain):
		return "Drain"
	case string(route.OrderMaintenance):
		return "Maintenance"
	case string(route.OrderReady):
		return "Ready"
	case string(route.OrderEject):
		return "Eject"
	case string(route.OrderUneject):
		return "End ejection"
	case actProbe:
		return "Probe now"
	}
	return ""
}

// mayOperate reports whether the caller may give orders here at all.
func (q *request) mayOperate() bool {
	me, _ := api.Who(q.http)
	return q.d.cfg.Operator != nil && me.Role == string(api.RoleAdmin)
}

// actsOn are what may be done to a backend in its state; nothing for those who may only
// read, and for one that is about to leave.
func (q *request) actsOn(h *route.BackendHealth) []act {
	if !q.mayOperate() {
		return nil
	}
	var list []act
	for _, name := range possible(h) {
		list = append(list, act{name, labelOf(name)})
	}
	return list
}

func possible(h *route.BackendHealth) []string {
	if h.State == route.StateLeaving {
		return nil
	}
	var names []string
	if h.Backend.Check != nil {
		names = append(names, actProbe)
	}
	drain, maintenance, ready := string(route.OrderDrain), string(route.OrderMaintenance), string(route.OrderReady)
	switch h.Admin.State {
	case route.AdminDrain:
		names = append(names, ready, maintenance)
	case route.AdminMaintenance:
		names = append(names, ready, drain)
	case route.AdminReady:
		names = append(names, drain, maintenance)
	default:
		names = append(names, drain, maintenance)
	}
	if p := h.Passive; p != nil {
		if p.State == route.PhaseClosed {
			names = append(names, string(route.OrderEject))
		} else {
			names = append(names, string(route.OrderUneject))
		}
	}
	return names
}

// target is the backend that an operation is about.
type target struct {
	view  *router.EntrypointView
	index int
}

func (t target) health() *route.BackendHealth { return &t.view.Health.Backends[t.index] }

// findBackend finds it by the ids of its entrypoint and itself.
func (q *request) findBackend(entrypoint, id string) (target, bool) {
	i := slices.IndexFunc(q.view.Entrypoints, func(e router.EntrypointView) bool { return e.Entrypoint.ID == entrypoint })
	if i < 0 {
		return target{}, false
	}
	v := &q.view.Entrypoints[i]
	j := slices.IndexFunc(v.Health.Backends, func(h route.BackendHealth) bool { return h.Backend.ID == id })
	return target{v, j}, j >= 0
}

// forbidden is the page for those who may not.
func (q *request) forbidden() answer {
	return q.without(http.StatusForbidden, "Not permitted", "This needs the role admin.", "Log in as a user with it; you may read everything as you are.")
}

// done is an order that was carried out a moment ago. It is shown only while the state
// bears it out, since it comes from the address.
type done struct {
	Backend string // its id
	Text    string
}

// doneOn reads which order led to the page.
func (q *request) doneOn(v *router.EntrypointView) done {
	id, name := q.query.Get("backend"), q.query.Get("done")
	i := slices.IndexFunc(v.Health.Backends, func(h route.BackendHealth) bool { return h.Backend.ID == id })
	if i < 0 || !q.mayOperate() {
		return done{}
	}
	h := &v.Health.Backends[i]
	d := done{Backend: id}
	ready := h.Admin.State == route.AdminReady || h.Admin.State == ""
	switch route.OrderAction(name) {
	case route.OrderDrain:
		d.say(h.Admin.State == route.AdminDrain, "It drains: "+q.drainingText(v, h))
	case route.OrderMaintenance:
		d.say(h.Admin.State == route.AdminMaintenance, "It is in maintenance: nothing new, no probes; "+inFlightText(h)+".")
	case route.OrderReady:
		d.say(ready, "It is ready again; its probes and its traffic decide.")
	case route.OrderEject:
		d.say(h.Passive != nil && h.Passive.State == route.PhaseOpen, "It is ejected.")
	case route.OrderUneject:
		d.say(h.Passive != nil && h.Passive.State == route.PhaseClosed, "Its ejection is over.")
	}
	if said := q.d.said(q.query); d.Text != "" && said != "" {
		d.Text += " " + said
	}
	return d
}

// drainingText says what still goes on at a draining backend, and from when on it, or its
// container, may be stopped.
func (q *request) drainingText(v *router.EntrypointView, h *route.BackendHealth) string {
	o := &v.Entrypoint.Options
	text, what := inFlightText(h), "It"
	if h.Backend.Container != nil {
		what = "Its container"
	}
	switch until := h.Admin.Since.Add(o.DrainTimeout); {
	case o.Sticky.On && until.After(q.now):
		return text + ", and clients that a cookie binds to it may come until " + clockOf(until, q.now) +
			". " + what + " may be stopped after that, when nothing is in flight."
	case inFlightOf(h) == 0:
		return text + ". " + what + " may be stopped."
	}
	return text + "."
}

func (d *done) say(holds bool, text string) {
	if holds {
		d.Text = text
	}
}

func inFlightText(h *route.BackendHealth) string {
	switch n := inFlightOf(h); n {
	case 0:
		return "nothing is in flight"
	case 1:
		return "1 request in flight may finish"
	default:
		return grouped(int(n)) + " in flight may finish"
	}
}
