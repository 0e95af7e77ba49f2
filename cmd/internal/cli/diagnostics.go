package cli

import (
	"fmt"

	"fairlead/router/route"
)

// printDiagnostics writes findings: code, label and value, what happened, what to do.
func (p *program) printDiagnostics(indent string, list []route.Diagnostic) {
	s := p.style(p.Out)
	for i := range list {
		d := &list[i]
		line := fmt.Sprintf("%s%s %s", indent, s.severity(d.Severity), s.bold(d.Code))
		if label := labelOf(d); label != "" {
			line += "  " + label
		}
		p.say("%s", line)
		p.say("%s", s.sentence(indent+"    ", d.Message))
		if d.Hint != "" {
			p.say("%s", s.sentence(indent+"    ", "fix: "+d.Hint))
		}
	}
}

// labelOf is the label that a diagnostic is about, with its value; "" when it is about none.
func labelOf(d *route.Diagnostic) string {
	if d.Label == "" || d.Value == "" {
		return d.Label
	}
	return d.Label + "=" + shorten(d.Value, 60)
}
