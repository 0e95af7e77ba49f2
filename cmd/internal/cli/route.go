package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/api"
	"fairlead/api/client"
)

func (p *program) routeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "route",
		Short:   "Routes: which are there, which one takes a request",
		Example: "  fairlead route list\n  fairlead route resolve http://app.example.com/v1",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.resolveCommand(), p.routeListCommand())
	return cmd
}

func (p *program) routeListCommand() *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Every entrypoint with its hosts, path, conditions and state",
		Long: `Lists every entrypoint with its hosts, path, conditions and state, asked from the
running router.

Exit codes: 0 done, even if nothing is listed; 3 wrong usage; 4 router not reachable.`,
		Example: `  fairlead route list
  fairlead route list -q example.com
  fairlead route list --state down,panic`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.routeList(cmd.Context(), f) },
	}
	cmd.Flags().StringVarP(&f.Query, "query", "q", "", "only those with these `words` in name, host, path or address")
	cmd.Flags().StringSliceVar(&f.States, "state", nil, "only those in these `states`: ok, partial, panic, down, pending, unchecked")
	cmd.Flags().StringVar(&f.Source, "source", "", "only those of this `provider`: docker or file")
	p.asking(cmd)
	return cmd
}

func (p *program) routeList(ctx context.Context, f client.Filter) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Entrypoints(ctx, f)
	if err != nil {
		return asked(err)
	}
	if p.json {
		return p.writeJSON(list)
	}
	if len(list) == 0 && f.Query == "" && f.Source == "" && len(f.States) == 0 {
		return p.nothing(ctx, c)
	}
	now := time.Now()
	providers, _ := c.Providers(ctx) // an error is none of the question that was asked
	p.printStale(stalesOf(providers), now)
	p.printRoutes(cleaned(list), now)
	if f.Query == "" && len(f.States) == 0 {
		p.printUnrouted(providers, f.Source)
	}
	return nil
}

func (p *program) printRoutes(list []api.Entrypoint, now time.Time) {
	s := p.style(p.Out)
	loud := map[string]bool{} // notes about requests that fail
	t := table{
		head: []string{"ENTRYPOINT", "STATE", "IN ROTATION", "HOSTS", "PATH", "CONDITIONS", "SOURCE", "NOTE"},
		paint: func(column int, cell string) string {
			switch {
			case column == 1:
				return s.state(cell)
			case column == 7 && loud[cell]:
				return s.bad(cell)
			}
			return cell
		},
	}
	for i := range list {
		e := &list[i]
		texts := notes(e, now)
		if text := failing(e.Traffic); text != "" {
			texts = append([]string{text}, texts...)
		}
		note := strings.Join(texts, "; ")
		loud[note] = failing(e.Traffic) != ""
		t.add(e.ID, e.Health.State, fmt.Sprintf("%d of %d", e.Health.InRotation, e.Health.Total),
			few(e.Config.Hostnames, 2), pathText(e.Config.Path), shorten(conditions(&e.Config), 50), e.Source, note)
	}
	if len(t.rows) == 0 {
		p.say("No entrypoint matches.")
		return
	}
	t.write(p.Out, "", s)
}

// printUnrouted says how many candidates have no place in the list.
func (p *program) printUnrouted(providers []api.Provider, source string) {
	n := 0
	for i := range providers {
		if v := &providers[i]; source == "" || v.Name == source {
			n += v.Rejected
		}
	}
	if n > 0 {
		p.say("%s", p.style(p.Out).dim(plural(n, "candidate")+" not routed: fairlead validate says why"))
	}
}

// few is the first n of a list, and how many more there are.
func few(list []string, n int) string {
	if len(list) <= n+1 {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}

func pathText(path *api.Path) string {
	if path == nil {
		return ""
	}
	return path.RuleType + " " + path.Value
}

// conditions lists what a request must have besides host and path.
func conditions(c *api.EntrypointConfig) string {
	var list []string
	if len(c.Methods) > 0 {
		list = append(list, "method "+strings.Join(c.Methods, ","))
	}
	for _, h := range c.MatchHeaders {
		list = append(list, "header "+h.Key)
	}
	for _, q := range c.MatchQuery {
		list = append(list, "query "+q.Key)
	}
	if len(c.MatchClientIP) > 0 {
		list = append(list, "client "+strings.Join(c.MatchClientIP, ","))
	}
	if c.MatchClientNobody {
		list = append(list, "client nobody")
	}
	if c.Priority != 0 {
		list = append(list, fmt.Sprintf("priority %d", c.Priority))
	}
	return strings.Join(list, "; ")
}
