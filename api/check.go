package api

import (
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// Check is what a backend is asked, as its health shows it. Header values and query
// values are not in it.
type Check struct {
	ID string `json:"id"`
	// SharedWith counts the other entrypoints that share the probe.
	SharedWith         int      `json:"shared_with"`
	Type               string   `json:"type"`   // tcp, http, tls, grpc, websocket
	Scheme             *string  `json:"scheme"` // http, https; null for tcp and tls
	Target             string   `json:"target"` // host:port
	Method             *string  `json:"method"`
	Path               *string  `json:"path"`
	Host               *string  `json:"host"`
	SNI                *string  `json:"sni"`
	HeaderNames        []string `json:"header_names"`
	Expect             *string  `json:"expect"` // what passes: statuses, words in the body
	IntervalMS         int64    `json:"interval_ms"`
	FastIntervalMS     int64    `json:"fast_interval_ms"`
	DownIntervalMS     int64    `json:"down_interval_ms"`
	TimeoutMS          int64    `json:"timeout_ms"`
	JitterPercent      int      `json:"jitter_percent"`
	InitialDelayMS     int64    `json:"initial_delay_ms"`
	UnhealthyThreshold int      `json:"unhealthy_threshold"`
	HealthyThreshold   int      `json:"healthy_threshold"`
	Initial            string   `json:"initial"`
	// DetectionBoundMS is absent where no router keeps the check running.
	DetectionBoundMS int64  `json:"detection_bound_ms,omitempty"`
	QueueDelayMS     int64  `json:"queue_delay_ms"`
	Pace             string `json:"pace"` // normal, fast, down
}

// SharedCheck is one object of GET /checks: a distinct stream of probes.
type SharedCheck struct {
	ID               string   `json:"id"`
	Type             string   `json:"type"`
	Scheme           *string  `json:"scheme"`
	Target           string   `json:"target"`
	Path             *string  `json:"path"`
	HeaderNames      []string `json:"header_names"`
	SharedWith       []string `json:"shared_with"` // ids of all entrypoints that use it
	Pace             string   `json:"pace"`
	IntervalMS       int64    `json:"interval_ms"`
	TimeoutMS        int64    `json:"timeout_ms"`
	NextLaunchAt     *int64   `json:"next_launch_at"`
	QueueDelayMS     int64    `json:"queue_delay_ms"`
	DetectionBoundMS int64    `json:"detection_bound_ms"`
	InFlight         bool     `json:"in_flight"`
}

func newCheck(v *route.CheckView) *Check {
	if v == nil {
		return nil
	}
	c := &v.Check
	out := &Check{
		ID: v.ID, SharedWith: max(len(v.SharedWith)-1, 0), Type: string(c.Type), Target: v.Target,
		HeaderNames: headerNames(c.Headers),
		IntervalMS:  millis(c.Interval), FastIntervalMS: millis(orElse(c.FastInterval, c.Interval)),
		DownIntervalMS: millis(orElse(c.DownInterval, c.Interval)), TimeoutMS: millis(c.Timeout),
		JitterPercent: c.Jitter, InitialDelayMS: millis(c.InitialDelay),
		UnhealthyThreshold: max(c.UnhealthyThreshold, 1), HealthyThreshold: max(c.HealthyThreshold, 1),
		Initial: string(c.Initial), DetectionBoundMS: millis(v.DetectionBound), QueueDelayMS: millis(v.QueueDelay),
		Pace: paceOf(v),
	}
	out.ask(c)
	return out
}

// grpcHealth is the method that a gRPC probe calls (grpc.health.v1).
const grpcHealth = "/grpc.health.v1.Health/Check"

// ask fills in what a probe of the check's type asks for and expects.
func (out *Check) ask(c *route.Check) {
	if c.Type != route.ProbeTCP {
		out.SNI = known(c.SNI)
	}
	if !speaksHTTP(c.Type) {
		return
	}
	out.Scheme, out.Host = known(c.Scheme), known(c.Host)
	switch c.Type {
	case route.ProbeHTTP:
		out.Method, out.Path, out.Expect = known(c.Method), known(redactQuery(c.Path)), known(expectation(c))
	case route.ProbeWebSocket:
		out.Method, out.Path, out.Expect = known("GET"), known(redactQuery(c.Path)), known("101")
	case route.ProbeGRPC:
		out.Method, out.Path, out.Expect = known("POST"), known(grpcHealth), known("SERVING")
		if c.GRPCService != "" {
			out.Expect = known("SERVING for the service " + quoted(c.GRPCService))
		}
	case route.ProbeTCP, route.ProbeTLS:
	}
}

// speaksHTTP reports whether a probe has a scheme and a Host.
func speaksHTTP(t route.ProbeType) bool {
	return t == route.ProbeHTTP || t == route.ProbeGRPC || t == route.ProbeWebSocket
}

// expectation is what an answer must be like to pass.
func expectation(c *route.Check) string {
	text := c.Status.String()
	if c.FollowRedirects {
		text += ", behind up to 3 redirects"
	}
	if c.BodyContains != "" {
		text += ", with " + quoted(c.BodyContains) + " in the body"
	}
	if c.BodyRegex != "" {
		text += ", with a match of " + quoted(c.BodyRegex) + " in the body"
	}
	return text
}

// newChecks maps every distinct check, in the order of their ids.
func newChecks(v *router.View) []SharedCheck {
	if v.Health == nil {
		return []SharedCheck{}
	}
	out := make([]SharedCheck, len(v.Health.Checks))
	for i := range v.Health.Checks {
		c := &v.Health.Checks[i]
		out[i] = SharedCheck{
			ID: c.ID, Type: string(c.Check.Type), Target: c.Target, HeaderNames: headerNames(c.Check.Headers),
			SharedWith: list(c.SharedWith), Pace: paceOf(c),
			IntervalMS: millis(c.Check.Interval), TimeoutMS: millis(c.Check.Timeout),
			NextLaunchAt: epoch(c.NextLaunch), QueueDelayMS: millis(c.QueueDelay),
			DetectionBoundMS: millis(c.DetectionBound), InFlight: c.InFlight,
		}
		if speaksHTTP(c.Check.Type) {
			out[i].Scheme = known(c.Check.Scheme)
		}
		switch c.Check.Type {
		case route.ProbeHTTP, route.ProbeWebSocket:
			out[i].Path = known(redactQuery(c.Check.Path))
		case route.ProbeGRPC:
			out[i].Path = known(grpcHealth)
		case route.ProbeTCP, route.ProbeTLS:
		}
	}
	return out
}

func headerNames(headers []route.CheckHeader) []string {
	out := make([]string, len(headers))
	for i := range headers {
		out[i] = headers[i].Name
	}
	return out
}

func paceOf(v *route.CheckView) string {
	if v.Pace == "" {
		return "normal"
	}
	return v.Pace
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func newPhases(p route.Phases) Phases {
	reached := func(d time.Duration) *float64 {
		if d < 0 {
			return nil
		}
		ms := fraction(d)
		return &ms
	}
	return Phases{
		DNS: reached(p.DNS), Connect: reached(p.Connect), TLS: reached(p.TLS),
		FirstByte: reached(p.FirstByte), Body: reached(p.Body),
	}
}
