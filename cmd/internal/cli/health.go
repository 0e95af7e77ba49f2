package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/api"
	"fairlead/api/client"
	"fairlead/router/route"
)

// Exit codes of `fairlead health` (json.md).
const (
	exitPartial = 1
	exitDown    = 2
)

func (p *program) healthCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health [ID]",
		Short: "State of every entrypoint and backend: in rotation or not, why, since when",
		Long: `Shows the state of every entrypoint, or of one, and of each of its backends, the worst
first. Where requests fail, it says how many of the last minute did; one that changed
four times or more within ten minutes between serving and failing is flapping.

An entrypoint is what one service declares. ID is its id, such as http_api, or its name;
fairlead route list shows them.

Exit codes: 0 all healthy; 1 one is partly healthy, or not judged yet; 2 one serves
unverified backends (panic) or nothing (down); 3 wrong usage, or no such entrypoint;
4 router not reachable.`,
		Example: "  fairlead health\n  fairlead health http_api\n  fairlead health http_api --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.health(cmd.Context(), args)
		},
	}
	p.asking(cmd)
	return cmd
}

func (p *program) health(ctx context.Context, args []string) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	defer c.Close()
	var list []api.Entrypoint
	if len(args) == 1 {
		e, err := find(ctx, c, args[0])
		if err != nil {
			return err
		}
		list = []api.Entrypoint{*e}
	} else if list, err = c.Entrypoints(ctx, client.Filter{}); err != nil {
		return asked(err)
	}
	for i := range list {
		p.exit = max(p.exit, healthExit(list[i].Health.State))
	}
	if p.json {
		return p.writeJSON(list)
	}
	list = cleaned(list)
	if len(list) == 0 {
		return p.nothing(ctx, c)
	}
	now := time.Now()
	p.printStale(stales(ctx, c), now)
	if len(args) == 0 {
		worstFirst(list, now)
		p.say("%s\n", p.summary(list, now))
	}
	p.printHealth(list, now)
	return nil
}

func healthExit(state string) int {
	switch route.EntrypointState(state) {
	case route.EntrypointOK, route.EntrypointUnchecked:
		return exitOK
	case route.EntrypointPanic, route.EntrypointDown:
		return exitDown
	case route.EntrypointPartial, route.EntrypointPending:
	}
	return exitPartial
}

// find returns the entrypoint of an id, or the only one of that name.
func find(ctx context.Context, c *client.Client, id string) (*api.Entrypoint, error) {
	e, err := c.Entrypoint(ctx, id)
	if !client.IsNotFound(err) {
		return e, asked(err)
	}
	all, err := c.Entrypoints(ctx, client.Filter{})
	if err != nil {
		return nil, asked(err)
	}
	var named, near []string
	for i := range all {
		if all[i].Name == id {
			named = append(named, all[i].ID)
		}
		if strings.Contains(all[i].ID, id) || strings.Contains(id, all[i].Name) {
			near = append(near, all[i].ID)
		}
	}
	if len(named) == 1 {
		e, err := c.Entrypoint(ctx, named[0])
		return e, asked(err)
	}
	fix := "fairlead route list shows all ids"
	if near = append(named, near...); len(near) > 0 {
		slices.Sort(near)
		near = slices.Compact(near)
		fix = "did you mean " + printable(strings.Join(near[:min(len(near), 5)], ", ")) + "?"
	}
	if why := unroutedBackend(ctx, c, id); why != "" {
		fix = why
	}
	return nil, usage(fix, "there is no entrypoint %s", printable(id))
}

// unroutedBackend says of an entrypoint that is not there why a container is none of its
// backends; "" when there is no such container.
func unroutedBackend(ctx context.Context, c *client.Client, id string) string {
	found, err := c.Diagnostics(ctx)
	if err != nil {
		return ""
	}
	for i := range found.Rejected {
		r := &found.Rejected[i]
		if slices.Contains(r.Entrypoints, id) || slices.Contains(r.Entrypoints, "http_"+id) {
			return printable(fmt.Sprintf("%s would be its backend, but is not routed: %s (%s)", r.Name, whyRejected(r, time.Now()), r.Hint))
		}
	}
	return ""
}

// nothing explains an empty list: the commonest reasons are said by the providers
// and the rejected candidates.
func (p *program) nothing(ctx context.Context, c *client.Client) error {
	p.say("There are no entrypoints.")
	providers, err := c.Providers(ctx)
	if err != nil {
		return asked(err)
	}
	for _, provider := range cleaned(providers) {
		if !provider.Enabled {
			continue
		}
		p.say("%s", p.style(p.Out).sentence("  ", provider.Name+": "+providerLine(&provider, time.Now())))
	}
	return nil
}

func providerLine(v *api.Provider, now time.Time) string {
	if v.LastError != nil {
		line := "connected, but: "
		if !v.Connected {
			line = "not connected: "
			if v.Since != nil {
				line = "not connected for " + ago(now, *v.Since) + ": "
			}
		}
		line += *v.LastError
		if v.Hint != nil {
			line += " (" + *v.Hint + ")"
		}
		return line
	}
	line := fmt.Sprintf("%s seen", plural(v.Candidates, "candidate"))
	if v.Rejected > 0 {
		line += fmt.Sprintf(", %d not routed: fairlead validate says why", v.Rejected)
	}
	return line
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func (p *program) printHealth(list []api.Entrypoint, now time.Time) {
	s := p.style(p.Out)
	for i := range list {
		e := &list[i]
		if i > 0 {
			p.say("")
		}
		p.printHead(e, now)
		if e.Health.Explain != "" {
			p.say("%s", s.sentence("  ", e.Health.Explain))
		}
		for _, note := range append(notes(e, now), lineNotes(e, now)...) {
			p.say("%s", s.warn(s.sentence("  ", note)))
		}
		p.printBackends(e.BackendHealth, now)
		for _, a := range absentOnce(e.Absent) {
			line := fmt.Sprintf("%s: no backend now (%s)", a.Name, a.Reason)
			if a.Detail != nil {
				line += ", " + *a.Detail
			}
			if a.Until != nil {
				line += ", for another " + left(now, *a.Until)
			}
			p.say("%s", s.dim(s.sentence("  ", line)))
		}
	}
}

// printHead prints the state of an entrypoint, its traffic, and whether its requests fail.
func (p *program) printHead(e *api.Entrypoint, now time.Time) {
	s := p.style(p.Out)
	line := s.bold(e.ID) + "  " + s.state(e.Health.State)
	if since := ago(now, e.Health.Since); since != "" {
		line += s.dim("  for " + since)
	}
	if traffic := trafficText(e.Traffic); traffic != "" {
		line += s.dim("  " + traffic)
	}
	p.say("%s", line)
	if text := failing(e.Traffic); text != "" {
		p.say("%s", s.bad(s.sentence("  ", text)))
	}
}

// notes are what is remarkable about an entrypoint beside its health.
func notes(e *api.Entrypoint, now time.Time) []string {
	var list []string
	if e.ShadowedBy != nil {
		list = append(list, "shadowed: "+*e.ShadowedBy+" takes all of its requests")
	}
	if e.Health.Code != nil {
		list = append(list, "closed by "+*e.Health.Code+": fairlead explain "+*e.Health.Code)
	}
	if e.ExpiresAt != nil {
		list = append(list, "retained for another "+left(now, *e.ExpiresAt))
	}
	if e.Stale {
		list = append(list, staleNote(e, now))
	}
	if f := e.Health.Flapping; f.At(now) {
		list = append(list, "flapping: "+f.Words())
	}
	return list
}

func (p *program) printBackends(list []api.BackendHealth, now time.Time) {
	if len(list) == 0 {
		return
	}
	s := p.style(p.Out)
	t := table{
		head:  []string{"BACKEND", "ADDRESS", "STATE", "IN ROTATION", "REASON", "FOR"},
		paint: backendPaint(s),
	}
	for i := range list {
		b := &list[i]
		t.add(unless(b.Address, backendName(b)), b.Address, b.State, yesNo(b.InRotation), b.RotationReason, ago(now, b.Since))
		t.note(b.Explain)
		if b.Hint != nil && !strings.Contains(b.Explain, *b.Hint) {
			t.note("Hint: " + *b.Hint)
		}
		if f := b.Flapping; len(list) > 1 && f.At(now) { // of a single one it is said above
			t.note("Flapping: " + f.Words())
		}
		for _, text := range layerNotes(b, now) {
			t.note(text)
		}
	}
	t.write(p.Out, "  ", s)
}

func backendPaint(s style) func(int, string) string {
	return func(column int, cell string) string {
		switch column {
		case 2:
			return s.state(cell)
		case 3:
			if strings.TrimSpace(cell) == "no" {
				return s.warn(cell)
			}
		}
		return cell
	}
}

func backendName(b *api.BackendHealth) string {
	switch {
	case b.Container != nil && b.Container.Name != "":
		return b.Container.Name
	case b.Name != nil:
		return *b.Name
	}
	return b.ID
}

// unless is text, or "" when it repeats what stands beside it.
func unless(other, text string) string {
	if text == other {
		return ""
	}
	return text
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
