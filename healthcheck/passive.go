package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// ejector is the passive layer of one placement. A nil one is off.
type ejector struct{}

// Begin implements route.Judge.
func (j *ejector) Begin(time.Time) (route.Ticket, bool) { return route.Ticket{}, true }

// End implements route.Judge.
func (j *ejector) End(route.Ticket, route.Outcome, time.Time) {}

func (j *ejector) phase() route.PassivePhase { return route.PhaseClosed }

func (j *ejector) ejectedAt() time.Time { return time.Time{} }

func (j *ejector) cause() (route.Kind, string) { return route.KindNone, "" }

func (j *ejector) view() *route.PassiveView { return nil }

func (e *Engine) settlePassive(*placement, time.Time) {}

func (e *Engine) tickPassive(_ *placement, moves []move, _ time.Time) []move { return moves }

func (p *placement) passiveStory(*route.BackendHealth) string { return "" }
