package route

import (
	"slices"
	"strings"
	"time"
)

// Passive is how real traffic judges the backends of an entrypoint (health.md,
// "Passive layer"). It is plain data and comparable.
type Passive struct {
	// Failures in a row, or within Window, that eject a backend; 0 turns the layer off.
	Failures int
	// Window counts failures within it instead of in a row; 0 counts in a row.
	Window time.Duration
	// KeepServing is passive.panic: when ejection took every backend they serve all the
	// same; otherwise clients get 503.
	KeepServing bool
	// Status are the response statuses that are failures; the zero set is none.
	Status StatusSet
	// Latency to the first byte from which a response is a failure; 0 is off.
	Latency            time.Duration
	EjectionTime       time.Duration // of the first ejection; repeated ones last its multiples
	MaxEjectionTime    time.Duration
	MaxEjectionPercent int // of the primaries, 1 to 100
	Recovery           Recovery
	Trials             int // successes that close a half-open backend, 1 or more
	// FeedsActive counts failures as failed probes, too.
	FeedsActive bool
}

// On reports whether traffic ejects backends.
func (p *Passive) On() bool { return p.Failures > 0 }

// Recovery says how an ejected backend comes back.
type Recovery string

// Values of passive.recovery.
const (
	RecoverAuto  Recovery = "auto"  // trial or, where the check can tell, probe: whichever comes first
	RecoverTime  Recovery = "time"  // fully when the ejection time is over
	RecoverProbe Recovery = "probe" // by successful probes alone
	RecoverTrial Recovery = "trial" // by leased trial requests alone
)

// Breaker is an entrypoint's circuit breaker. It is plain data and comparable.
type Breaker struct {
	Threshold   float64 // failure ratio that opens it, above 0 to 1; 0 turns it off
	MinRequests int     // outcomes that the ratio is taken over
	Cooldown    time.Duration
}

// On reports whether there is a breaker.
func (b *Breaker) On() bool { return b.Threshold > 0 }

// Retry says what is tried again beside Options.RetryAttempts. It is plain data and
// comparable.
type Retry struct {
	On RetryOn
	// Methods are upper-case methods, sorted and separated by commas; "" is the
	// idempotent ones (RFC 9110 section 9.2.2). What was never sent is tried again
	// whatever the method.
	Methods string
	// TryDuration bounds all tries together; 0 does not. With it a request whose tries
	// are used up is tried on until the time is over.
	TryDuration time.Duration
	// TryInterval is the pause before a backend is tried that was tried already.
	TryInterval time.Duration
}

// RetryOn is a set of failures.
type RetryOn uint8

// Failures that may be tried again.
const (
	RetryConnect RetryOn = 1 << iota // nothing was sent
	RetryTimeout                     // no connection, or no response head, in time
	Retry502
	Retry503
	Retry504
)

// Status reports whether a response with the status is tried again.
func (r RetryOn) Status(status int) bool {
	switch status {
	case 502:
		return r&Retry502 != 0
	case 503:
		return r&Retry503 != 0
	case 504:
		return r&Retry504 != 0
	}
	return false
}

// Allows reports whether a request with the method may be sent a second time.
func (r *Retry) Allows(method string) bool {
	if r.Methods != "" {
		return slices.Contains(strings.Split(r.Methods, ","), method)
	}
	return Idempotent(method)
}

// Idempotent reports whether a method may be sent twice (RFC 9110 section 9.2.2).
func Idempotent(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}

// OnDown says what becomes of the connections of a backend that went down.
type OnDown string

// Values of onDown. Requests in flight go on with each of them.
const (
	OnDownIdle  OnDown = "idle"  // idle ones are closed
	OnDownClose OnDown = "close" // tunnels too
	OnDownKeep  OnDown = "keep"  // none
)

// Sticky keeps a client on its backend with a cookie. It is plain data and comparable.
type Sticky struct {
	On       bool
	Cookie   string // name; "" is fl_ and 8 hex digits of the entrypoint's id
	Secure   bool   // always; otherwise when the request came by TLS
	SameSite string // Lax, Strict or None
	MaxAge   time.Duration
}

// Queue is where requests wait while every backend of an entrypoint is full.
type Queue struct {
	Size    int // requests at once; 0 is none
	Timeout time.Duration
}

// DefaultPassive returns the passive layer of an entrypoint without a label for it: off.
func DefaultPassive() Passive {
	status, err := ParseStatusSet("502,503,504")
	if err != nil {
		panic(err) // a constant
	}
	return Passive{
		KeepServing: true, Status: status, EjectionTime: 30 * time.Second, MaxEjectionTime: 5 * time.Minute,
		MaxEjectionPercent: 50, Recovery: RecoverAuto, Trials: 1,
	}
}

// DefaultBreaker returns a breaker that is off.
func DefaultBreaker() Breaker { return Breaker{MinRequests: 20, Cooldown: 10 * time.Second} }

// DefaultRetry returns what is tried again without labels.
func DefaultRetry() Retry { return Retry{On: RetryConnect, TryInterval: 250 * time.Millisecond} }

// DefaultQueue returns the queue for full backends.
func DefaultQueue() Queue { return Queue{Size: 100, Timeout: time.Second} }

// DefaultNoBackendStatus is what clients get when nothing may serve.
const DefaultNoBackendStatus = 503

// DefaultSlowStartMin is the percent of its weight that a warming backend begins with.
const DefaultSlowStartMin = 10
