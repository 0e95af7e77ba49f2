package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// detectionBound is the published bound from a fault to the verdict "down", without
// traffic and with the slowest fault there is, a black hole (health.md, "Published
// time bounds"): ⌈I(1+j)⌉ + T + x + (U−1)·S(x) with x the timeout.
func detectionBound(c *route.Check, tick time.Duration) time.Duration {
	x := c.Timeout
	// The last good answer may itself have taken up to the timeout, and probes never
	// overlap.
	first := max(ceil(jittered(c.Interval, c.Jitter, tick), tick), ceil(x, tick))
	return first + tick + x + time.Duration(max(c.UnhealthyThreshold, 1)-1)*step(c, x, tick)
}

// step is S(x): the time from one failing probe's launch to the next.
func step(c *route.Check, x, tick time.Duration) time.Duration {
	pace := c.FastInterval
	if pace <= 0 {
		pace = c.Interval
	}
	if pace = ceil(jittered(pace, c.Jitter, tick), tick); x < pace {
		return pace
	}
	return ceil(x, tick) + tick
}

// jittered is the longest wait that jitter makes of an interval.
func jittered(d time.Duration, percent int, tick time.Duration) time.Duration {
	if d <= 2*tick {
		return d
	}
	return d + d*time.Duration(percent)/100
}

// ceil rounds up to the tick.
func ceil(d, tick time.Duration) time.Duration {
	if rest := d % tick; rest > 0 {
		return d - rest + tick
	}
	return d
}
