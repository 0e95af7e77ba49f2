package dashboard

import (
	"strconv"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// checkText is what the backend is asked, and how often. The path of c is without query
// values; v may be nil.
func checkText(c *api.Check, v *route.CheckView) string {
	return askText(c, v) + ", every " + durationText(c.IntervalMS)
}

func askText(c *api.Check, v *route.CheckView) string {
	path := text(c.Path)
	switch route.ProbeType(c.Type) {
	case route.ProbeHTTP:
		return text(c.Method) + " " + text(c.Scheme) + "://" + c.Target + path
	case route.ProbeTLS:
		return "TLS handshake with " + c.Target + nameText(v)
	case route.ProbeGRPC:
		return "gRPC health of " + serviceText(v) + " at " + c.Target + encrypted(text(c.Scheme), " over TLS", " (h2c)")
	case route.ProbeWebSocket:
		return "WebSocket upgrade at " + encrypted(text(c.Scheme), "wss://", "ws://") + c.Target + path
	case route.ProbeTCP:
	}
	return "TCP connect to " + c.Target
}

func encrypted(scheme, yes, no string) string {
	if scheme == string(route.SchemeHTTPS) {
		return yes
	}
	return no
}

func nameText(v *route.CheckView) string {
	if v == nil || v.Check.SNI == "" {
		return ""
	}
	return " as " + v.Check.SNI
}

func serviceText(v *route.CheckView) string {
	if v == nil || v.Check.GRPCService == "" {
		return "the server"
	}
	return strconv.Quote(v.Check.GRPCService)
}

// passesText is what a good answer must hold, "" when any will do.
func passesText(c *route.Check) string {
	var parts []string
	switch c.Type {
	case route.ProbeHTTP:
		parts = append(parts, "status "+c.Status.String())
	case route.ProbeGRPC:
		parts = append(parts, "status SERVING")
	case route.ProbeWebSocket:
		parts = append(parts, "status 101")
	case route.ProbeTLS, route.ProbeTCP:
	}
	if c.FollowRedirects {
		parts = append(parts, "after redirects within the backend")
	}
	if c.BodyContains != "" {
		parts = append(parts, "the body holds "+strconv.Quote(shortened(c.BodyContains)))
	}
	if c.BodyRegex != "" {
		parts = append(parts, "the body matches "+shortened(c.BodyRegex))
	}
	return strings.Join(parts, ", ")
}

// shortened keeps a text of a label from filling a page.
func shortened(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// phasesText is how long the parts of a probe took, those that were reached.
func phasesText(p route.Phases) string {
	var parts []string
	for _, phase := range phasesOf(p) {
		if phase.Took > 0 {
			parts = append(parts, phase.Name+" "+msText(phase.Took))
		}
	}
	return strings.Join(parts, ", ")
}

// phase is one part of a probe; a negative time was not reached.
type phase struct {
	Name string
	Took time.Duration
}

// Phases, by what pages call them.
const (
	phaseDNS       = "DNS"
	phaseConnect   = "connect"
	phaseTLS       = "TLS"
	phaseFirstByte = "first byte"
	phaseBody      = "body"
)

func phasesOf(p route.Phases) []phase {
	return []phase{{phaseDNS, p.DNS}, {phaseConnect, p.Connect}, {phaseTLS, p.TLS}, {phaseFirstByte, p.FirstByte}, {phaseBody, p.Body}}
}

// suspicion is the sentence of a hint that doubts the check itself, "" without one: the
// health engine saw requests succeed on a backend whose probes fail.
func suspicion(hint string) string {
	const doubt = "the check itself is probably wrong"
	for part := range strings.SplitSeq(hint, " - ") {
		if strings.Contains(part, doubt) {
			return part
		}
	}
	return ""
}

// probeReport is a probe that an operator asked for, as its page shows it.
type probeReport struct {
	Mark        mark
	Lead        string
	Took        string
	Address     string
	Remote      string
	Counted     bool
	Phases      []phaseRow
	Exchange    route.ProbeExchange
	Body        string
	Certificate *certificate
	Hint        []string
}

// phaseRow is a part of a probe and how long it took.
type phaseRow struct{ Name, Took string }

// certificate is what a backend showed.
type certificate struct {
	route.ProbeCertificate
	Ends    moment
	Expired bool
}

func (q *request) reportOf(r *route.ProbeReport) *probeReport {
	out := &probeReport{
		Mark: mark{"pass", "passed", levelCalm, "ball"}, Lead: r.Result.Message, Took: msText(r.Result.Duration),
		Address: r.Address, Remote: r.Result.Remote, Counted: r.Counted, Exchange: r.Exchange,
	}
	if !r.Result.OK {
		out.Mark = mark{"failed", "failed", levelAlarm, "cross"}
	}
	for _, p := range phasesOf(r.Result.Phases) {
		if p.Took < 0 && !has(&r.Check.Check, p.Name) {
			continue
		}
		row := phaseRow{p.Name, "not reached"}
		if p.Took >= 0 {
			row.Took = msText(p.Took)
		}
		out.Phases = append(out.Phases, row)
	}
	out.Exchange.RequestLine = withoutValues(out.Exchange.RequestLine)
	if out.Exchange.BodyBytes > 0 {
		out.Body = grouped(int(out.Exchange.BodyBytes)) + " bytes"
	}
	if c := r.Exchange.Certificate; c != nil {
		out.Certificate = &certificate{*c, momentOf(c.NotAfter, q.now), !c.NotAfter.After(q.now)}
	}
	steps := advice{}
	steps.add(r.Hint)
	out.Hint = steps.list
	return out
}

// has reports whether a check has a phase at all: one without TLS does not fail to reach
// it.
func has(c *route.Check, phase string) bool {
	switch c.Type {
	case route.ProbeTCP:
		return phase == phaseDNS || phase == phaseConnect
	case route.ProbeTLS:
		return phase != phaseFirstByte && phase != phaseBody
	case route.ProbeHTTP, route.ProbeGRPC, route.ProbeWebSocket:
	}
	return phase != phaseTLS || c.Scheme == route.SchemeHTTPS
}

// withoutValues is a request line without the values of its query, should any be left.
func withoutValues(line string) string {
	before, rest, found := strings.Cut(line, "?")
	if !found {
		return line
	}
	query, protocol, _ := strings.Cut(rest, " ")
	parts := strings.Split(query, "&")
	for i, pair := range parts {
		name, _, valued := strings.Cut(pair, "=")
		if !valued {
			name = ""
		}
		parts[i] = strings.TrimPrefix(name+"="+route.Redacted, "=")
	}
	return strings.TrimSpace(before + "?" + strings.Join(parts, "&") + " " + protocol)
}
