package cli

import (
	"context"
	"time"

	"fairlead/api"
)

// explainEntrypoint writes one sentence on an entrypoint, one on each backend, what
// changed lately, and what its labels got wrong.
func (p *program) explainEntrypoint(ctx context.Context, id string) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	defer c.Close()
	e, err := find(ctx, c, id)
	if err != nil {
		return err
	}
	if p.json {
		return p.writeJSON(e)
	}
	e = cleaned(e)
	now := time.Now()
	p.printHealth([]api.Entrypoint{*e}, now)
	s := p.style(p.Out)
	if len(e.Health.History) > 0 {
		p.say("\n%s", s.bold("Lately"))
		for _, t := range e.Health.History {
			from := "  " + time.UnixMilli(t.AtMS).Format(time.TimeOnly) + "  " + t.From + " -> "
			p.say("%s", s.behind(from+s.state(t.To)+"  ", len(from+t.To)+2, "            ", t.Message+orderedBy(&t)))
		}
	}
	if len(e.Diagnostics) > 0 {
		p.say("\n%s", s.bold("Diagnostics"))
		p.printDiagnostics("  ", e.Diagnostics)
	}
	return nil
}
