package api

import (
	"context"
	"net/http"
	"time"

	"fairlead/router/route"
)

// Probe is what a probe saw that an operator asked for. No value of a header or of a
// query is in it.
type Probe struct {
	Address string `json:"address"` // host:port that was probed
	Check   *Check `json:"check"`
	Result  Result `json:"result"`
	Counted bool   `json:"counted"`  // false for a dry run
	WouldBe string `json:"would_be"` // success, failure: what it counts as
	// Request and Response are what went over the wire; without HTTP there is neither.
	Request     *ProbeRequest     `json:"request,omitempty"`
	Response    *ProbeResponse    `json:"response,omitempty"`
	Certificate *ProbeCertificate `json:"certificate"` // of the backend, null without TLS
	Hint        *string           `json:"hint"`
}

// ProbeRequest is what a probe sent.
type ProbeRequest struct {
	Line        string   `json:"line"`
	HeaderNames []string `json:"header_names"`
}

// ProbeResponse is what it got.
type ProbeResponse struct {
	StatusLine  string   `json:"status_line"`
	HeaderNames []string `json:"header_names"`
	BodyBytes   int64    `json:"body_bytes"` // that were read
}

// ProbeCertificate is the certificate that a backend showed.
type ProbeCertificate struct {
	Subject   string   `json:"subject"`
	Issuer    string   `json:"issuer"`
	Names     []string `json:"names"`
	NotBefore int64    `json:"not_before"`
	NotAfter  int64    `json:"not_after"`
	Protocol  *string  `json:"protocol"` // by ALPN
	Version   string   `json:"version"`  // of TLS
}

// probeSlack is how long an answer to an order to probe may take beyond the timeouts of
// two probes: one that is in flight, and the one that was asked for.
const probeSlack = 15 * time.Second

// ProbeContext gives the answer to a request the time that a probe may take whose check
// has the timeout, and returns the context to probe with.
func ProbeContext(w http.ResponseWriter, r *http.Request, timeout time.Duration) (context.Context, context.CancelFunc) {
	limit := probeSlack + 2*timeout
	// The listener's limits are for answers that are made at once. Where they cannot be
	// moved, as in tests, they stay.
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(limit + probeSlack))
	_ = conn.SetWriteDeadline(time.Now().Add(limit + probeSlack))
	return context.WithTimeout(r.Context(), limit)
}

// probeNow answers POST .../probe.
func (s *Server) probeNow(w http.ResponseWriter, r *http.Request) *Error {
	var body ProbeBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	b, err := s.findBackend(r)
	if err != nil {
		return err
	}
	if s.cfg.Operator == nil {
		return noOperator()
	}
	var timeout time.Duration
	if b.Check != nil {
		timeout = time.Duration(b.Check.TimeoutMS) * time.Millisecond
	}
	ctx, cancel := ProbeContext(w, r, timeout)
	defer cancel()
	report, failure := s.cfg.Operator.ProbeNow(ctx, r.PathValue("id"), r.PathValue("bid"), body.Count)
	if failure != nil {
		return orderRefused(failure)
	}
	s.send(w, r, reply{body: NewProbe(&report)})
	return nil
}

// NewProbe is a report as answers show it.
func NewProbe(p *route.ProbeReport) Probe {
	out := Probe{
		Address: p.Address, Check: newCheck(&p.Check), Result: *newResult(&p.Result, &p.Check), Counted: p.Counted,
		WouldBe: "failure", Hint: known(p.Hint),
	}
	if p.Result.OK {
		out.WouldBe = "success"
	}
	x := &p.Exchange
	if x.RequestLine != "" {
		out.Request = &ProbeRequest{Line: x.RequestLine, HeaderNames: list(x.RequestHeaders)}
	}
	if x.StatusLine != "" {
		out.Response = &ProbeResponse{StatusLine: x.StatusLine, HeaderNames: list(x.ResponseHeaders), BodyBytes: max(x.BodyBytes, 0)}
	}
	if c := x.Certificate; c != nil {
		out.Certificate = &ProbeCertificate{
			Subject: c.Subject, Issuer: c.Issuer, Names: list(c.Names), NotBefore: epochOrZero(c.NotBefore), NotAfter: epochOrZero(c.NotAfter),
			Protocol: known(c.Protocol), Version: c.Version,
		}
	}
	return out
}
