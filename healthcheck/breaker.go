package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// breaker is the circuit breaker of one entrypoint. A nil one is none.
type breaker struct{}

// Enter implements route.Gate.
func (b *breaker) Enter(time.Time) (lease uint64, wait time.Duration, ok bool) { return 0, 0, true }

// Leave implements route.Gate.
func (b *breaker) Leave(uint64, route.Outcome, time.Time) {}

func (b *breaker) tick(time.Time) bool { return false }

func (b *breaker) view(time.Time) *route.BreakerView { return nil }
