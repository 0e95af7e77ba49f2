package dashboard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// paper is a plain text in the making, for a ticket.
type paper struct{ b strings.Builder }

func (p *paper) line(format string, args ...any) {
	p.b.WriteString(strings.Map(printable, fmt.Sprintf(format, args...)))
	p.b.WriteByte('\n')
}

// printable keeps texts of strangers from making lines of their own, from moving a
// terminal's cursor and from turning the direction of what follows.
func printable(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return utf8.RuneError
	}
	return r
}

// known adds a line when there is something to say.
func (p *paper) known(lead, text string) {
	if text != "" {
		p.line("%s%s", lead, text)
	}
}

func (q *request) head(p *paper) {
	p.line("Fairlead %s, generation %d, %s", q.d.cfg.Version, q.view.Generation, momentOf(q.now, q.now).Full)
	for _, b := range q.banners() {
		p.line("")
		p.line("! %s, since %s", b.Lead, b.Since.Full)
		p.known("  ", b.Text)
		p.known("  Next: ", b.Next)
	}
}

// diagnosisOf is one entrypoint in plain text: state, reasons, backends, findings.
func (q *request) diagnosisOf(v *router.EntrypointView) string {
	var p paper
	q.head(&p)
	p.line("")
	q.diagnose(&p, v)
	return p.b.String()
}

// diagnosisOfAll are all problems in plain text.
func (q *request) diagnosisOfAll() string {
	var p paper
	q.head(&p)
	c := q.census()
	p.line("")
	stuck := ""
	if c.Stuck > 0 {
		stuck = fmt.Sprintf(", %d pending with probes that fail", c.Stuck)
	}
	if c.Flapping > 0 {
		stuck += fmt.Sprintf(", %d flapping", c.Flapping)
	}
	p.line("%s: %d down, %d in panic, %d partial%s; %d of %s in rotation", countOf(c.Entrypoints, "entrypoint"),
		c.Down(), c.Panic(), c.Partial(), stuck, c.InRotation, countOf(c.Backends, "backend"))
	const most = 50
	troubles := q.troubles()
	for i, t := range troubles {
		p.line("")
		if i == most {
			p.line("... and %d more", len(troubles)-most)
			break
		}
		q.diagnose(&p, t.view)
	}
	return p.b.String()
}

func (q *request) diagnose(p *paper, v *router.EntrypointView) {
	e := api.EntrypointOf(q.view, v, true)
	pr := q.problem(v)
	p.line("%s: %s%s", e.ID, strings.ToUpper(pr.Mark.Word), sinceText(pr.Since))
	p.known("  Takes: ", strings.Join(e.Config.Hostnames, ", ")+pathText(v.Entrypoint.Match.Path))
	p.known("  From: ", sourceText(&e))
	if c := pr.Circuit; c != nil {
		p.line("  %s: %s", c.Mark.Word, c.Text)
		p.known("  Next trial: ", c.Retry.Full)
	}
	p.known("  ", pr.Explain)
	for _, fact := range pr.Evidence {
		p.line("  %s", fact)
	}
	p.known("  Now: ", pr.Serves)
	p.known("  Now: ", pr.Failing)
	for _, step := range pr.Todo {
		p.line("  Next: %s", step)
	}
	for i := range e.BackendHealth {
		q.diagnoseBackend(p, q.backend(v, i, &e.BackendHealth[i]))
	}
	for _, a := range e.Absent {
		p.line("  - %s: no backend now (%s) %s", a.Name, words(a.Reason), text(a.Detail))
	}
	for _, d := range e.Diagnostics {
		if d.Severity == route.SeverityInfo {
			continue
		}
		p.line("  %s %s: %s", d.Code, d.Severity, d.Message)
		p.known("      Label: ", d.Label)
		p.known("      Fix: ", d.Hint)
	}
}

func (q *request) diagnoseBackend(p *paper, b backend) {
	rotation := "out of rotation"
	if b.In {
		rotation = "in rotation"
	}
	name := b.Name
	if name != b.Address {
		name += " (" + b.Address + ")"
	}
	p.line("  - %s: %s, %s (%s)%s", name, b.Mark.Word, rotation, b.Reason, sinceText(b.Since))
	p.known("      ", b.Explain)
	for _, f := range b.Facts {
		text := f.Text
		if f.At.Known() {
			text += "; " + f.Lead + " at " + f.At.Full
		}
		p.line("      %s: %s", f.Name, text)
	}
	for _, f := range b.Flags {
		p.line("      Now: %s", f.Word)
	}
	p.known("      Doubt the check: ", b.Suspect)
	p.known("      Check: ", b.Check)
	p.known("      Passes with: ", b.Passes)
	p.known("      Probes: ", b.Strip.Words)
	p.known("      Image: ", b.Image)
	const most = 5
	for _, t := range b.History[:min(most, len(b.History))] {
		p.line("      %s  %s -> %s (%s) %s", t.At.Full, t.From.Word, t.To.Word, t.Cause, t.Message+t.By())
	}
}

func sourceText(e *api.Entrypoint) string {
	if e.Project == nil {
		return e.Source
	}
	return e.Source + ", project " + *e.Project
}

func sinceText(m moment) string {
	if !m.Known() {
		return ""
	}
	return " since " + m.Full + " (" + m.For + ")"
}
