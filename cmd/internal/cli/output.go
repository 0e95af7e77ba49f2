package cli

import (
	"encoding/json"
	"fmt"
)

// writeJSON writes what --json asks for: indented, with < and > as they are.
func (p *program) writeJSON(v any) error {
	encoder := json.NewEncoder(p.Out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// unwritten is why the output could not be written, nil while it can, for what would go
// on for ever. Main says it.
func (p *program) unwritten() error {
	if o, ok := p.Out.(*output); ok {
		return o.err
	}
	return nil
}

// say writes one line to the output. Main says that it could not be written.
func (p *program) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Out, format+"\n", args...)
}
