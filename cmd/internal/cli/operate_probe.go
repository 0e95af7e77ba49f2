package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"fairlead/api"
)

// probeTime bounds what a probe by order may take: twice the longest timeout there is,
// and some more.
const probeTime = 11 * time.Minute

// probeNow runs the check of a backend in the running router and says what it saw.
func (p *program) probeNow(ctx context.Context, id, name string) error {
	c, err := p.clientWithin(probeTime)
	if err != nil {
		return err
	}
	defer c.Close()
	e, err := find(ctx, c, id)
	if err != nil {
		return orderNotRead(err)
	}
	b, err := chooseBackend(e, name, oneOnly)
	if err != nil {
		return err
	}
	report, err := c.ProbeNow(ctx, e.ID, b.ID, p.counted)
	if err != nil {
		return orderFailed(err, "probe")
	}
	if !report.Result.OK {
		p.exit = exitFailed
	}
	if p.json {
		return p.writeJSON(report)
	}
	p.printSeen(e.ID+" "+printable(backendName(b)), cleaned(report))
	return nil
}

// printSeen writes what a probe saw.
func (p *program) printSeen(title string, v *api.Probe) {
	s := p.style(p.Out)
	verdict := s.good("would pass")
	if !v.Result.OK {
		verdict = s.bad("would fail")
	}
	if v.Counted {
		verdict = strings.Replace(verdict, "would pass", "passed, and counts", 1)
		verdict = strings.Replace(verdict, "would fail", "failed, and counts", 1)
	}
	address := v.Address + "  "
	if title == v.Address || strings.HasSuffix(title, " "+v.Address) {
		address = "" // it is the name of the backend
	}
	p.say("%s  %s%s", s.bold(title), address, verdict)
	message := v.Result.Message
	if v.Result.Kind != nil {
		message = cmp.Or(message, *v.Result.Kind) + " [" + *v.Result.Kind + "]"
	}
	p.say("%s", s.sentence("  ", message+" in "+number(v.Result.DurationMS)+" ms"))
	if v.Request != nil {
		p.say("  > %s  %s", v.Request.Line, s.dim(strings.Join(v.Request.HeaderNames, ", ")))
	}
	if v.Response != nil {
		p.say("  < %s  %s  %d bytes", v.Response.StatusLine, s.dim(strings.Join(v.Response.HeaderNames, ", ")), v.Response.BodyBytes)
	}
	if v.Certificate != nil {
		p.say("  certificate of %s until %s", strings.Join(v.Certificate.Names, ", "), time.Unix(v.Certificate.NotAfter, 0).UTC().Format(time.DateOnly))
	}
	if v.Hint != nil {
		p.say("%s", s.sentence("  ", "Hint: "+*v.Hint))
	}
	if !v.Counted {
		p.say("%s", s.dim("  A dry run: nothing has changed. --apply applies the result."))
	}
}
