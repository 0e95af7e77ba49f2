package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead/provider/label"
)

// isCode tells codes of diagnostics from ids of entrypoints, which contain "_".
var isCode = regexp.MustCompile(`^[A-Za-z][0-9]{1,4}$`)

func (p *program) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [CODE|ID]",
		Short: "Cause, effect and fix of a code; or why each backend of an entrypoint is where it is",
		Long: `With a code such as E001: what brings it about, what it costs, how to get rid of
it, and an example. With the id of an entrypoint: one sentence on every backend,
asked from the running router. Without an argument: all codes.

Exit codes: 0 done; 3 no such code or entrypoint; 4 router not reachable.`,
		Example: "  fairlead explain\n  fairlead explain E001\n  fairlead explain http_api",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return p.listCodes()
			case isCode.MatchString(args[0]):
				return p.explainCode(args[0])
			}
			return p.explainEntrypoint(cmd.Context(), args[0])
		},
	}
	p.asking(cmd)
	return cmd
}

func (p *program) listCodes() error {
	if p.json {
		return p.writeJSON(label.Explanations())
	}
	t := table{head: []string{"CODE", "SEVERITY", "MEANING"}}
	for _, e := range label.Explanations() {
		t.add(e.Code, string(e.Severity), e.Title)
	}
	t.write(p.Out, "", p.style(p.Out))
	return nil
}

func (p *program) explainCode(code string) error {
	e, ok := label.Explain(code)
	if !ok {
		return usage(nearCodes(code), "there is no code %s", strings.ToUpper(code))
	}
	if p.json {
		return p.writeJSON(e)
	}
	s := p.style(p.Out)
	p.say("%s  %s", s.bold(e.Code+" ("+string(e.Severity)+")"), e.Title)
	for _, part := range []struct{ name, text string }{
		{"Cause", e.Cause}, {"Effect", e.Effect}, {"Fix", e.Fix},
	} {
		p.say("\n%s\n%s", s.bold(part.name), s.sentence("  ", part.text))
	}
	if e.Example != "" {
		p.say("\n%s", s.bold("Example"))
		for line := range strings.SplitSeq(strings.TrimSpace(e.Example), "\n") {
			p.say("  %s", line)
		}
	}
	return nil
}

// nearCodes says which codes there are around a wrong one.
func nearCodes(code string) string {
	code = strings.ToUpper(code)
	var near []string
	for _, e := range label.Explanations() {
		if e.Code[1:] == code[1:] || e.Code[0] == code[0] && len(e.Code) == len(code) && e.Code[:len(code)-1] == code[:len(code)-1] {
			near = append(near, e.Code)
		}
	}
	if len(near) == 0 {
		return "fairlead explain lists all codes"
	}
	slices.Sort(near)
	return "near: " + strings.Join(near, ", ") + "; fairlead explain lists all"
}
