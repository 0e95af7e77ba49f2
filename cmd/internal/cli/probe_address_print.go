package cli

import (
	"fmt"
	"strings"
	"time"

	"fairlead/api"
)

// printProbe shows all that a probe saw: how long each part took, the certificate, what
// went over the wire without any value, the verdict and what to do. Its texts must be
// cleaned.
func (p *program) printProbe(v api.Probe, now time.Time) {
	s := p.style(p.Out)
	p.say("%s", s.bold(schemeOf(v.Check)+" "+v.Address))
	p.printPhases(&v, s)
	p.printCertificate(v.Certificate, s, now)
	p.printExchange(&v, s)
	verdict, word := s.good("passed"), "passed"
	if !v.Result.OK {
		verdict, word = s.bad("failed"), "failed"
		if v.Result.Kind != nil {
			verdict, word = verdict+" ("+*v.Result.Kind+")", word+" ("+*v.Result.Kind+")"
		}
	}
	took := " in " + ms(v.Result.DurationMS) + ": "
	p.say("%s", s.behind(verdict+took, len(word+took), "  ", v.Result.Message))
	if v.Hint != nil {
		p.say("%s", s.sentence("  ", "Hint: "+*v.Hint))
	}
}

// schemeOf is how an address of the check begins: https, wss, tcp.
func schemeOf(c *api.Check) string {
	for name, s := range probeSchemes() {
		plain := c.Scheme == nil && s.scheme == ""
		if c.Type == string(s.kind) && (plain || c.Scheme != nil && *c.Scheme == string(s.scheme)) {
			return name
		}
	}
	return c.Type
}

// printProbeLine is one of several probes in a row.
func (p *program) printProbeLine(n int, v api.Probe) {
	s := p.style(p.Out)
	word := s.good("passed")
	if !v.Result.OK {
		word = s.bad("failed")
	}
	p.say("%4d  %s  %9s  %s", n, word, ms(v.Result.DurationMS), v.Result.Message)
}

func (p *program) printPhases(v *api.Probe, s style) {
	x, remote, secure := &v.Result.PhasesMS, "", ""
	if v.Result.Remote != nil {
		remote = *v.Result.Remote
	}
	if c := v.Certificate; c != nil {
		secure = c.Version
		if c.Protocol != nil {
			secure += ", " + *c.Protocol
		}
	}
	for _, phase := range []struct {
		name string
		took *float64
		note string
	}{
		{"resolve", x.DNS, ""}, {"connect", x.Connect, remote}, {"TLS", x.TLS, secure}, {"answer", x.FirstByte, ""}, {"body", x.Body, ""},
	} {
		if phase.took != nil {
			p.say("%s", strings.TrimRight(fmt.Sprintf("  %s  %9s  %s", s.dim(fmt.Sprintf("%-11s", phase.name)), ms(*phase.took), phase.note), " "))
		}
	}
}

func (p *program) printCertificate(c *api.ProbeCertificate, s style, now time.Time) {
	if c == nil {
		return
	}
	row := func(name, text string) { p.say("  %s  %s", s.dim(fmt.Sprintf("%-11s", name)), text) }
	row("certificate", c.Subject)
	row("issued by", c.Issuer)
	if len(c.Names) > 0 {
		row("names", strings.Join(c.Names, ", "))
	}
	from, until := time.Unix(c.NotBefore, 0).UTC(), time.Unix(c.NotAfter, 0).UTC()
	text := from.Format(time.DateOnly) + " to " + until.Format(time.DateOnly)
	switch {
	case now.After(until):
		text = s.bad(text + ", expired")
	case now.Before(from):
		text = s.bad(text + ", not valid yet")
	default:
		text += ", another " + left(now, c.NotAfter)
	}
	row("valid", text)
}

// printExchange shows request and response; of header fields the names.
func (p *program) printExchange(v *api.Probe, s style) {
	line := func(mark, text string) {
		if text != "" {
			p.say("  %s %s", s.dim(mark), text)
		}
	}
	if v.Request != nil {
		line(">", v.Request.Line)
		line(">", strings.Join(v.Request.HeaderNames, ", "))
	}
	if v.Response == nil {
		return
	}
	line("<", v.Response.StatusLine)
	line("<", strings.Join(v.Response.HeaderNames, ", "))
	if v.Response.BodyBytes > 0 {
		line("<", plural(int(v.Response.BodyBytes), "byte")+" of the body were read")
	}
}

// ms is a time in milliseconds for people.
func ms(f float64) string {
	if f >= 100 {
		return fmt.Sprintf("%.0f ms", f)
	}
	return fmt.Sprintf("%.1f ms", f)
}
