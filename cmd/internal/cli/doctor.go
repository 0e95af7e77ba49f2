package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fairlead/cmd/internal/config"
)

// verdict is what a check of doctor came to.
type verdict string

const (
	verdictOK   verdict = "ok"
	verdictNote verdict = "note"
	verdictWarn verdict = "warn"
	verdictFail verdict = "fail"
)

// checkup is one finding of doctor.
type checkup struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Message string  `json:"message"`
	Fix     string  `json:"fix,omitempty"`
}

// doctor collects findings.
type doctor struct {
	p        *program
	findings []checkup
}

func (d *doctor) add(check string, v verdict, message, fix string) {
	d.findings = append(d.findings, checkup{check, v, printable(message), printable(fix)})
}

func (p *program) doctorCommand() *cobra.Command {
	var o sourceOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Looks at this machine as a router would, and says what is in the way, with fixes",
		Long: `Checks the configuration, the engine (reachable, permitted, which version, its socket),
the ports, the router's own container and networks, the labels of all containers for the
usual mistakes, and a running router if there is one. It changes nothing.

Exit codes: 0 nothing is in the way, 1 something is, 3 wrong usage.`,
		Example: "  fairlead doctor\n  fairlead doctor --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), &o) },
	}
	cmd.Flags().StringVar(&p.admin, "admin", "", "`URL` of a running router's admin listener (default: FAIRLEAD_ADMIN, else the configuration's)")
	cmd.Flags().StringVar(&o.config, "config", "", "configuration `file` (default: CONFIG_PATH, ./fairlead.yaml, /etc/fairlead/fairlead.yaml)")
	o.dockerFlag(cmd)
	p.jsonFlag(cmd)
	return cmd
}

// doctorLimit bounds the whole examination.
const doctorLimit = 30 * time.Second

func (p *program) doctor(ctx context.Context, o *sourceOptions) error {
	ctx, cancel := context.WithTimeout(ctx, doctorLimit)
	defer cancel()
	d := &doctor{p: p}
	settings := d.configuration(o)
	if settings != nil {
		d.parts(ctx, settings)
		d.engine(ctx, settings)
		running := d.router(ctx, settings)
		d.ports(ctx, settings, running)
	}
	for _, f := range d.findings {
		if f.Verdict == verdictFail {
			p.exit = exitFailed
		}
	}
	if p.json {
		return p.writeJSON(struct {
			Findings []checkup `json:"findings"`
		}{d.findings})
	}
	d.print()
	return nil
}

// configuration reads the settings that a router here would start with; nil when they
// are wrong.
func (d *doctor) configuration(o *sourceOptions) *config.Config {
	loaded, err := config.Load(o.source(d.p.Env))
	if err != nil {
		for _, problem := range config.AsProblems(err) {
			d.add("configuration", verdictFail, problem.Title(), problem.Fix)
		}
		if config.AsProblems(err) == nil {
			d.add("configuration", verdictFail, err.Error(), "make the file readable, or name another one with --config")
		}
		return nil
	}
	for _, warning := range loaded.Warnings {
		d.add("configuration", verdictWarn, warning, "")
	}
	where := "no file, so the defaults and the environment"
	if loaded.File != "" {
		where = loaded.File
	}
	d.add("configuration", verdictOK, where, "")
	return &loaded.Config
}

func (d *doctor) print() {
	s := d.p.style(d.p.Out)
	counts := map[verdict]int{}
	for _, f := range d.findings {
		counts[f.Verdict]++
		word := string(f.Verdict)
		switch f.Verdict {
		case verdictOK:
			word = s.good(word + "  ")
		case verdictWarn:
			word = s.warn(word)
		case verdictFail:
			word = s.bad(word)
		case verdictNote:
			word = s.dim(word)
		}
		wide := len(string(f.Verdict)) + len(f.Check) + 4
		if f.Verdict == verdictOK {
			wide += 2
		}
		d.p.say("%s", s.line().behind(word+"  "+s.bold(f.Check)+": ", wide, "      ", f.Message))
		if f.Fix != "" {
			d.p.say("%s", s.line().sentence("      ", "fix: "+f.Fix))
		}
	}
	d.p.say("")
	switch {
	case counts[verdictFail] > 0:
		d.p.say("%s in the way, %s.", plural(counts[verdictFail], "thing"), plural(counts[verdictWarn], "warning"))
	case counts[verdictWarn] > 0:
		d.p.say("Nothing is in the way; %s.", plural(counts[verdictWarn], "warning"))
	default:
		d.p.say("Nothing is in the way.")
	}
}
