package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// warmup is a placement's slow start. The zero value is none.
type warmup struct{}

func (w *warmup) on() bool { return false }

// percent is the whole part of its weight that the placement gets, 1 to full.
func (w *warmup) percent(time.Time) int { return full }

func (w *warmup) view(time.Time) *route.WarmupView { return nil }

func (e *Engine) settleWarmup(*placement, time.Time) {}

// tickWarmup reports whether a weight has changed.
func (en *entry) tickWarmup(time.Time) bool { return false }
