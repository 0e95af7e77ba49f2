package api

import (
	"time"

	"fairlead/router/route"
)

// TrafficPoint is what happened to requests in one step of time.
type TrafficPoint struct {
	At       time.Time     // the end of the step
	Step     time.Duration // its length
	Requests uint64
	// Errors are the requests that got a status of 500 or more. A client that leaves
	// is none: it is in class 0.
	Errors  uint64
	Classes [route.StatusClasses]uint64 // by first digit of the status; 0 for none
	// P50 and P99 are estimates of the time to the response head, never above that of the
	// slowest request; 0 without any.
	P50, P99 time.Duration
	InFlight int64  // at the end of the step
	Retries  uint64 // contacts beyond a request's first one
	Held     uint64 // requests that waited for a backend
	Cut      uint64 // responses that broke off after their head
}

// Rate is requests per second; 0 for a step without length.
func (p *TrafficPoint) Rate() float64 { return perSecond(p.Requests, p.Step) }

// ErrorRatio is the share of errors, 0 to 1; 0 without requests.
func (p *TrafficPoint) ErrorRatio() float64 { return ratio(p.Errors, p.Requests) }

// TrafficMinute sums up the last minute, or what is known of it.
type TrafficMinute struct {
	Span     time.Duration // 0 when nothing was sampled yet
	Requests uint64
	Errors   uint64
	// Abandoned are contacts with a backend whose client left or broke its request off, or
	// that the router ended: they say nothing about the backend. 0 for an entrypoint.
	Abandoned uint64
	P50, P99  time.Duration // 0 without requests
}

// Rate is requests per second; 0 without a span.
func (m *TrafficMinute) Rate() float64 { return perSecond(m.Requests, m.Span) }

// Judged are the requests that can be errors: all but those that were abandoned.
func (m *TrafficMinute) Judged() uint64 { return m.Requests - m.Abandoned }

// ErrorRatio is the share of errors among Judged, 0 to 1; 0 without any.
func (m *TrafficMinute) ErrorRatio() float64 { return ratio(m.Errors, m.Judged()) }

func perSecond(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

func ratio(part, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// clientErrors are an entrypoint's errors: what its clients got. Requests in class 0
// are those of clients that left.
func clientErrors(c *route.TrafficCounts) uint64 { return c.Classes[5] }

// backendErrors are a backend's errors: class 0 are contacts without an answer, and its
// fault unless they were abandoned.
func backendErrors(c *route.TrafficCounts) uint64 {
	return c.Classes[5] + c.Classes[0] - c.Abandoned
}

// plus adds up two counts.
func plus(a, b *route.TrafficCounts) route.TrafficCounts {
	sum := *a
	for i := range sum.Classes {
		sum.Classes[i] += b.Classes[i]
	}
	for i := range sum.Buckets {
		sum.Buckets[i] += b.Buckets[i]
	}
	sum.Sum += b.Sum
	sum.Retries += b.Retries
	sum.Held += b.Held
	sum.Cut += b.Cut
	sum.Abandoned += b.Abandoned
	return sum
}
