package healthcheck

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead/router/route"
)

// The reload matrix of health.md, row by row. Each row changes a backend that is up with
// one failure of three, ejected by traffic until 32 s, drained by an operator, and asked
// next at 20 s. The change comes at 12 s.
type matrixRow struct {
	name   string
	change func(m *matrix)
	// What is left of each layer.
	active  string // status, consecutive failures, and whether it is stale
	passive string // phase and end, "" for none
	admin   route.AdminState
	check   string  // the same one or a new one
	next    float64 // when it is asked next, in seconds
}

const (
	keptActive  = "up 1"
	keptPassive = "open 32s"
	keptCheck   = "same"
	newCheck    = "new"
	anew        = "pending 0"
)

func matrixRows() []matrixRow {
	timing := func(f func(*route.Check)) func(m *matrix) {
		return func(m *matrix) { m.edit(checked(f)) }
	}
	return []matrixRow{
		{"nothing", func(*matrix) {}, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"another entrypoint", func(m *matrix) { m.other.Options.HoldFor = time.Minute }, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"another backend", func(m *matrix) { m.backends = m.backends[:2] }, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"weight", func(m *matrix) { m.edit(func(b *route.Backend) { b.Weight = 7 }) }, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"sticky", func(m *matrix) { m.entry.Options.Sticky.On = true }, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"slow start", func(m *matrix) { m.edit(slow(time.Minute, 10)) }, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"panic", func(m *matrix) { m.entry.Options.Panic = route.PanicLast }, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"retry", func(m *matrix) { m.entry.Options.RetryAttempts = 5 }, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"threshold 2", timing(func(c *route.Check) { c.UnhealthyThreshold = 2 }), keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"threshold 1", timing(func(c *route.Check) { c.UnhealthyThreshold = 1 }), "down 1", keptPassive, route.AdminDrain, keptCheck, 20},
		{"interval 5s", timing(func(c *route.Check) { c.Interval = 5 * time.Second }), keptActive, keptPassive, route.AdminDrain, newCheck, 17},
		{"interval 60s", timing(func(c *route.Check) { c.Interval = time.Minute }), keptActive, keptPassive, route.AdminDrain, newCheck, 20},
		{"fastInterval", timing(func(c *route.Check) { c.FastInterval = 3 * time.Second }), keptActive, keptPassive, route.AdminDrain, newCheck, 15},
		{"downInterval", timing(func(c *route.Check) { c.DownInterval = time.Second }), keptActive, keptPassive, route.AdminDrain, newCheck, 20},
		{"jitter", timing(func(c *route.Check) { c.Jitter = 50 }), keptActive, keptPassive, route.AdminDrain, newCheck, 20},
		{"timeout", timing(func(c *route.Check) { c.Timeout = time.Second }), keptActive, keptPassive, route.AdminDrain, newCheck, 20},
		{"port", timing(func(c *route.Check) { c.Port = 81 }), "up 0 stale", keptPassive, route.AdminDrain, newCheck, 12},
		{"type and path", func(m *matrix) { m.edit(httpCheck("/health")) }, "up 0 stale", keptPassive, route.AdminDrain, newCheck, 12},
		{"passive settings", func(m *matrix) {
			m.entry.Options.Passive.Failures, m.entry.Options.Passive.EjectionTime = 5, time.Hour
		}, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"renamed", func(m *matrix) { m.entry.ID = "http_new" }, keptActive, "closed", route.AdminReady, keptCheck, 20},
		{"container restarted", func(m *matrix) {
			m.edit(func(b *route.Backend) { b.Incarnation, b.StartedAt = "docker/b0/2/10.0.0.1", time.Now() })
		}, anew, "closed", route.AdminReady, newCheck, 12},
		{"another container at the address", func(m *matrix) {
			m.edit(func(b *route.Backend) {
				b.ID, b.Container, b.Incarnation, b.StartedAt = "b9", &route.Container{ID: "b9"}, "docker/b9/1/10.0.0.1", time.Now()
			})
		}, anew, "closed", route.AdminReady, newCheck, 12},
		{"address changed", func(m *matrix) {
			m.edit(func(b *route.Backend) { b.Host, b.Incarnation = "10.0.0.9", "docker/b0/1/10.0.0.9" })
		}, anew, "closed", route.AdminDrain, newCheck, 12},
		{"removed and added in one batch", func(m *matrix) { slices.Reverse(m.backends[1:]) }, keptActive, keptPassive, route.AdminDrain, keptCheck, 20},
		{"removed, added later", func(m *matrix) {
			m.rig.apply(m.rig.setOf(&m.other, backend("n", "10.0.0.8")))
			m.edit(func(b *route.Backend) { b.Incarnation += "/again" })
		}, anew, "closed", route.AdminDrain, newCheck, 12}, // one start of a container: the order is bound to it
		{"check off", func(m *matrix) { m.edit(func(b *route.Backend) { b.Check = nil }) }, "unchecked 0", keptPassive, route.AdminDrain, "none", 0},
	}
}

// matrix is the configuration that a row changes.
type matrix struct {
	rig      *rig
	entry    route.Entrypoint
	other    route.Entrypoint
	backends []route.Backend
}

func (m *matrix) edit(f func(*route.Backend)) { f(&m.backends[0]) }

// apply hands over the configuration, as new values throughout.
func (m *matrix) apply() {
	entry, other := m.entry, m.other
	m.rig.apply(m.rig.setOf(&other, backend("n", "10.0.0.8")), m.rig.setOf(&entry, slices.Clone(m.backends)...))
}

// subject is the placement that a row is about. The caller holds the engine's lock.
func (m *matrix) subject() *placement {
	for _, p := range m.rig.engine.entries[m.entry.ID].placements {
		if p.backend().Host == m.backends[0].Host || p.backend().ID == m.backends[0].ID {
			return p
		}
	}
	m.rig.t.Fatal("it is gone")
	return nil
}

// TestReloadMatrix walks the rows. For those about a lost provider and a check without users
// see TestLostProviderFreezes and TestLastUserGone.
func TestReloadMatrix(t *testing.T) {
	for _, row := range matrixRows() {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, Config{StartupSpread: 1}, func(r *rig) { row.hold(r) })
		})
	}
}

// TestLostProviderFreezes: while no Apply comes, every layer stays and probes go on, however
// long it lasts; an order does not end because nobody confirms its backend.
func TestLostProviderFreezes(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		newMatrix(r)
		r.at(2 * time.Second)
		r.must("http_api", "b0", route.Order{Action: route.OrderDrain, Actor: "ops"})
		r.at(3 * time.Hour)
		for _, address := range []string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.8:80"} {
			if n := len(r.net.dials(address)); n < 1079 || n > 1081 {
				t.Errorf("%s was asked %d times in three hours", address, n)
			}
		}
		r.wantState("http_api", "b0", route.StateDraining, route.OutDraining)
		r.wantServing("http_api", "b1 b2")
		if got := r.seen.loud(r.start); len(got) != 5 { // four starts and the drain
			t.Errorf("told: %q", got)
		}
		r.net.set("10.0.0.3:80", refuse)
		r.at(3*time.Hour + time.Minute)
		r.wantState("http_api", "b2", route.StateDown, route.OutProbeFailed)
		r.wantServing("http_api", "b1")
		if o := r.engine.Orders(); len(o) != 1 || !o[0].Admin.Since.Equal(r.start.Add(2*time.Second)) {
			t.Errorf("%+v", o)
		}
	})
}

func newMatrix(r *rig) *matrix {
	m := &matrix{rig: r, entry: *ejecting()}
	m.other = route.Entrypoint{ID: "http_other", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
	three := checked(func(c *route.Check) { c.UnhealthyThreshold, c.HealthyThreshold = 3, 2 })
	for i := range 3 {
		b := backend(fmt.Sprint("b", i), fmt.Sprintf("10.0.0.%d", i+1), three)
		r.net.set(b.Address(), accept)
		m.backends = append(m.backends, b)
	}
	r.net.set("10.0.0.8:80", accept)
	r.apply(r.setOf(new(m.other), backend("n", "10.0.0.8")), r.setOf(new(m.entry), slices.Clone(m.backends)...))
	r.run()
	r.still()
	return m
}

func (row *matrixRow) hold(r *rig) {
	m := newMatrix(r)
	r.at(2 * time.Second)
	r.requests("b0", 503, 503, 503)
	if err := r.engine.Order("http_api", "b0", route.Order{Action: route.OrderDrain, Actor: "ops", Scope: route.ScopeBackend}); err != nil {
		r.t.Fatal(err)
	}
	r.net.set("10.0.0.1:80", refuse)
	r.at(12 * time.Second)
	r.engine.mu.Lock()
	before := m.subject().check.generation
	r.engine.mu.Unlock()
	row.expect(m, &matrixRow{active: keptActive, passive: keptPassive, admin: route.AdminDrain, check: keptCheck}, before)
	asked := m.asked()
	row.change(m)
	m.apply()
	row.expect(m, row, before)
	r.at(44500 * time.Millisecond)
	for i, at := range m.asked() {
		if i == len(asked) {
			if got := at.Truncate(500 * time.Millisecond); got.Seconds() != row.next {
				r.t.Errorf("asked next at %s, want %v s", at, row.next)
			}
			return
		}
	}
	if row.next != 0 {
		r.t.Error("it was not asked again")
	}
}

// asked is when the subject was asked, at whatever address and port.
func (m *matrix) asked() []time.Duration {
	var all []time.Duration
	for _, address := range []string{"10.0.0.1:80", "10.0.0.1:81", "10.0.0.9:80"} {
		all = append(all, m.rig.net.dials(address)...)
	}
	slices.Sort(all)
	return all
}

// expect compares what a row leaves with the layers of the subject.
func (row *matrixRow) expect(m *matrix, want *matrixRow, generation uint64) {
	m.rig.t.Helper()
	m.rig.engine.mu.Lock()
	defer m.rig.engine.mu.Unlock()
	p := m.subject()
	active := fmt.Sprint(p.active.status, " ", p.active.fail)
	if p.active.stale {
		active += " stale"
	}
	passive := ""
	if v := p.passive.view(); v != nil {
		passive = string(v.State)
		if !v.Until.IsZero() {
			passive += " " + v.Until.Sub(m.rig.start).String()
		}
	}
	check := "none"
	switch {
	case p.check == nil:
	case p.check.generation == generation:
		check = keptCheck
	case p.check.generation > generation:
		check = newCheck
	}
	if active != want.active || passive != want.passive || p.admin.State != want.admin || check != want.check {
		m.rig.t.Errorf("active %q, passive %q, operator %q, check %q; want %q, %q, %q, %q",
			active, passive, p.admin.State, check, want.active, want.passive, want.admin, want.check)
	}
}

// TestTimeoutChangedInFlight: the probe on its way is cancelled and launched again.
func TestTimeoutChangedInFlight(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.at(9 * time.Second)
		r.net.set("10.0.0.1:80", blackhole)
		r.at(10500 * time.Millisecond)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(func(c *route.Check) { c.Timeout = 2 * time.Second }))))
		if got := len(r.engine.View().Checks); got != 1 {
			t.Errorf("%d checks: the old one goes on", got)
		}
		r.at(12500 * time.Millisecond)
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		r.at(13500 * time.Millisecond)
		r.wantState("http_api", "b1", route.StateDown, route.InPanicAll)
		if got := r.net.dials("10.0.0.1:80"); !slices.Equal(got, secs(0, 10, 11)) {
			t.Errorf("launches %v", got)
		}
	})
}

// TestLastUserGone: a check that nobody uses any more is cancelled and deleted.
func TestLastUserGone(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", blackhole)
		a, b := r.set("http_a", backend("b1", "10.0.0.1")), r.set("http_b", backend("b1", "10.0.0.1"))
		r.apply(a, b)
		r.run()
		r.apply(a)
		if got := r.engine.Stats(); got.Running != 1 || len(r.engine.View().Checks) != 1 {
			t.Errorf("one user is left: %+v", got)
		}
		r.apply()
		if got := r.engine.Stats(); got.Running != 0 || len(r.engine.View().Checks) != 0 || got.LateResults != 1 {
			t.Errorf("none is left: %+v", got)
		}
		r.at(time.Minute)
		if got := r.net.dials("10.0.0.1:80"); len(got) != 1 {
			t.Errorf("asked at %v", got)
		}
	})
}
