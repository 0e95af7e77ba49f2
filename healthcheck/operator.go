package healthcheck

import (
	"time"

	"fairlead/router/route"
)

func (e *Engine) settleOperator(p *placement, _ time.Time) {
	if p.admin.State == "" {
		p.admin.State = route.AdminReady
	}
}

func (e *Engine) tickOperator(_ *placement, moves []move, _ time.Time) []move { return moves }

// servesBound reports whether the placement drains and still serves the clients that a
// cookie binds to it.
func (p *placement) servesBound(time.Time) bool { return false }

func (p *placement) adminCause() (route.Kind, string) { return route.KindAdminDrain, "" }

func (p *placement) adminStory(*route.BackendHealth) string { return "" }
