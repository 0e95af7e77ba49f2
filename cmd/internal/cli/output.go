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

// say writes one line to the output. What cannot be written cannot be reported either.
func (p *program) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Out, format+"\n", args...)
}
