package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/provider/compose"
	"fairlead/provider/file"
	"fairlead/router"
	"fairlead/router/route"
)

type validateOptions struct {
	onlySkipped bool
	severity    string
	source      sourceOptions
}

func (p *program) validateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [COMPOSE-FILE...]",
		Short: "What labels amount to: what would be routed, what not, and every mistake with its fix",
		Long: `Reads the engine, compose files, or a file of entrypoints, and judges them as a router
would at its start. No router needs to run, and none is asked; nothing is started.

Compose files are read as compose does: variables, .env, extends, include and all
profiles. Each file named without -f is a project of its own, so that what two stacks
do to each other is seen before they run; several -f are one project and its overrides.

Notes are counted and not shown unless --severity info is given.

Exit codes: 0 no errors; 1 at least one error; 3 wrong usage, configuration or
environment; 4 the engine or the file cannot be read.`,
		Example: `  fairlead validate
  fairlead validate --only-skipped
  fairlead validate -f compose.yaml
  fairlead validate shop/compose.yaml blog/compose.yaml
  fairlead validate --severity error -f routes.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.source.projects = args
			if !slices.Contains([]string{"error", "warn", "info"}, o.severity) {
				return usage("give error, warn or info", "--severity %s is not a severity", o.severity)
			}
			if p.json && !cmd.Flags().Changed("severity") {
				o.severity = string(route.SeverityInfo) // programs leave out what they do not want
			}
			return p.validate(cmd.Context(), &o)
		},
	}
	cmd.Flags().BoolVar(&o.onlySkipped, "only-skipped", false, "only what is not routed")
	cmd.Flags().StringVar(&o.severity, "severity", "warn", "least `severity` that is shown: error, warn or info; --json shows all unless it is given")
	o.source.flags(cmd)
	p.jsonFlag(cmd)
	return cmd
}

func (p *program) validate(ctx context.Context, o *validateOptions) error {
	view, err := p.offline(ctx, &o.source)
	var f *failure
	var invalid *file.InvalidError
	var refused *compose.InvalidError
	if errors.As(err, &f) && (errors.As(err, &invalid) || errors.As(err, &refused)) {
		f.code = exitFailed // a mistake in what is validated, not in how it was asked
	}
	if err != nil {
		return err
	}
	report := newReport(view)
	if report.Errors > 0 {
		p.exit = exitFailed
	}
	report.filter(o)
	if p.json {
		return p.writeJSON(report)
	}
	p.printReport(cleaned(report), o)
	return nil
}

// report is what validate found.
type report struct {
	Errors      int             `json:"errors"`
	Warnings    int             `json:"warnings"`
	Infos       int             `json:"infos"`
	Entrypoints []reportedRoute `json:"entrypoints"`
	Findings    []finding       `json:"findings"`
	// Rejected are the candidates that are not routed at all.
	Rejected []route.Rejected `json:"rejected"`
	Ignored  int              `json:"ignored"`

	routed, skipped int // entrypoints and rejected, before the filter
}

// finding is what there is to say about one candidate, entrypoint or everything.
type finding struct {
	About       string             `json:"about"`
	Diagnostics []route.Diagnostic `json:"diagnostics"`

	candidate string // its id, "" when it is about something else
}

func newReport(v *router.View) report {
	r := report{Entrypoints: []reportedRoute{}, Findings: []finding{}, Rejected: append([]route.Rejected{}, v.Rejected...)}
	names := candidateNames(v)
	told := map[route.Diagnostic]bool{}
	for _, c := range v.Candidates {
		about := short(c.CandidateID)
		if name := names[c.CandidateID]; name != "" && name != about {
			about = name + " (" + about + ")"
		}
		r.Findings = append(r.Findings, finding{about, slices.Clone(c.Diagnostics), c.CandidateID})
		for _, d := range c.Diagnostics {
			told[d] = true
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b finding) int { return strings.Compare(a.About, b.About) })
	if len(v.Global) > 0 {
		r.Findings = slices.Insert(r.Findings, 0, finding{"all of it", slices.Clone(v.Global), ""})
	}
	for i := range v.Entrypoints {
		e := &v.Entrypoints[i]
		r.Entrypoints = append(r.Entrypoints, newReportedRoute(e, v.Candidates))
		own := slices.DeleteFunc(slices.Clone(e.Diagnostics), func(d route.Diagnostic) bool { return told[d] })
		if len(own) > 0 {
			r.Findings = append(r.Findings, finding{e.Entrypoint.ID, own, ""})
		}
	}
	for i := range v.Providers {
		r.Ignored += v.Providers[i].Ignored
	}
	r.count()
	return r
}

// candidateNames maps candidate ids to names, as far as the view knows them.
func candidateNames(v *router.View) map[string]string {
	names := map[string]string{}
	for i := range v.Entrypoints {
		e := v.Entrypoints[i].Entrypoint
		for j := range e.Backends {
			if c := e.Backends[j].Container; c != nil {
				names[c.ID] = c.Name
			}
		}
		for _, a := range e.Absent {
			names[a.CandidateID] = a.Name
		}
	}
	for _, r := range v.Rejected {
		names[r.CandidateID] = r.Name
	}
	return names
}

// short is a container id as people know it.
func short(id string) string {
	if len(id) == 64 && strings.Trim(id, "0123456789abcdef") == "" {
		return id[:12]
	}
	return id
}

// count adds up what was found. A rejected candidate counts by its code, unless a
// diagnostic of it says the same.
func (r *report) count() {
	r.routed, r.skipped = len(r.Entrypoints), len(r.Rejected)
	counts := map[route.Severity]int{}
	for _, f := range r.Findings {
		for _, d := range f.Diagnostics {
			counts[d.Severity]++
		}
	}
	for i := range r.Rejected {
		if c := &r.Rejected[i]; c.Code != "" && r.cause(c) == nil {
			counts[route.SeverityOf(c.Code)]++
		}
	}
	r.Errors, r.Warnings, r.Infos = counts[route.SeverityError], counts[route.SeverityWarn], counts[route.SeverityInfo]
}

// cause is the diagnostic that a candidate is rejected for, nil when none says the same.
func (r *report) cause(c *route.Rejected) *route.Diagnostic {
	for i := range r.Findings {
		list := r.Findings[i].Diagnostics
		if n := slices.IndexFunc(list, func(d route.Diagnostic) bool { return d.Code == c.Code && d.Message == c.Reason }); n >= 0 && r.Findings[i].candidate == c.CandidateID {
			return &list[n]
		}
	}
	return nil
}

// filter leaves out what the flags do not want; the counts stay. Of what is not routed all
// is wanted, unless it is no error and only errors are.
func (r *report) filter(o *validateOptions) {
	rank := map[route.Severity]int{route.SeverityInfo: 0, route.SeverityWarn: 1, route.SeverityError: 2}
	least := rank[route.Severity(o.severity)]
	if o.onlySkipped {
		least = rank[route.SeverityError]
		r.Entrypoints = slices.DeleteFunc(r.Entrypoints, func(e reportedRoute) bool { return e.serves() })
	} else if least == rank[route.SeverityError] {
		r.Rejected = slices.DeleteFunc(r.Rejected, func(c route.Rejected) bool { return rank[route.SeverityOf(c.Code)] < least })
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Diagnostics = slices.DeleteFunc(f.Diagnostics, func(d route.Diagnostic) bool { return rank[d.Severity] < least })
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f finding) bool { return len(f.Diagnostics) == 0 })
}

func (p *program) printReport(r report, o *validateOptions) {
	s := p.style(p.Out)
	p.printEntrypoints("Routed", r.Entrypoints, true)
	p.printEntrypoints("Routed, but nothing would serve", r.Entrypoints, false)
	told := p.printRejected(&r)
	for _, f := range r.Findings {
		f.Diagnostics = slices.DeleteFunc(f.Diagnostics, func(d route.Diagnostic) bool { return told[f.candidate] == d })
		if len(f.Diagnostics) > 0 {
			p.say("%s", s.bold(f.About))
			p.printDiagnostics("  ", f.Diagnostics)
			p.say("")
		}
	}
	notes := plural(r.Infos, "note")
	if r.Infos > 0 && !o.onlySkipped && o.severity != string(route.SeverityInfo) {
		notes += " (--severity info shows them)"
	}
	p.say("%s, %s not routed; %s, %s, %s.", plural(r.routed, "entrypoint"), plural(r.skipped, "candidate"),
		plural(r.Errors, "error"), plural(r.Warnings, "warning"), notes)
	if r.Ignored > 0 {
		p.say("%s", s.dim(fmt.Sprintf("%s without labels of ours, or switched off.", plural(r.Ignored, "candidate"))))
	}
}

// printRejected returns the diagnostics that it told, by candidate.
func (p *program) printRejected(r *report) map[string]route.Diagnostic {
	if len(r.Rejected) == 0 {
		return nil
	}
	told, now := map[string]route.Diagnostic{}, time.Now()
	s := p.style(p.Out)
	p.say("%s", s.bold("Not routed"))
	t := table{head: []string{"CANDIDATE", "CODE", "WHY"}}
	for i := range r.Rejected {
		c := &r.Rejected[i]
		name := c.Name
		if id := short(c.CandidateID); id != name {
			name += " (" + id + ")"
		}
		t.add(name, c.Code, whyRejected(c, now))
		if d := r.cause(c); d != nil {
			told[c.CandidateID] = *d
			t.note(labelOf(d))
		}
		if c.Hint != "" {
			t.note("fix: " + c.Hint)
		}
	}
	t.write(p.Out, "  ", s)
	p.say("")
	return told
}
