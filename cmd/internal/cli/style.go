package cli

import (
	"io"
	"strings"
	"unicode/utf8"

	"fairlead/router/route"
)

// style colours words when the output is a terminal and nobody objects.
type style struct{ colour bool }

func (p *program) style(w io.Writer) style {
	return style{colour: p.lookup("NO_COLOR") == "" && p.lookup("TERM") != "dumb" && terminal(w)}
}

func (s style) paint(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) good(text string) string { return s.paint("32", text) }
func (s style) warn(text string) string { return s.paint("33", text) }
func (s style) bad(text string) string  { return s.paint("31", text) }
func (s style) bold(text string) string { return s.paint("1", text) }
func (s style) dim(text string) string  { return s.paint("2", text) }

// state colours a state of a backend or an entrypoint.
func (s style) state(text string) string {
	switch strings.TrimSpace(text) {
	case "up", "ok", "unchecked", "ready", "served":
		return s.good(text)
	case "down", "panic", "failed", "error", "unavailable", "no_route", "refused":
		return s.bad(text)
	}
	return s.warn(text)
}

func (s style) severity(severity route.Severity) string {
	switch severity {
	case route.SeverityError:
		return s.bad(string(severity))
	case route.SeverityWarn:
		return s.warn(string(severity))
	case route.SeverityInfo:
	}
	return s.dim(string(severity))
}

// table writes aligned columns. Cells are plain; paint colours one after padding.
type table struct {
	head []string
	rows [][]string
	// paint returns what a padded cell looks like; nil leaves all plain.
	paint func(column int, cell string) string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table with an indent; empty columns are left out.
func (t *table) write(w io.Writer, indent string, s style) {
	widths := make([]int, len(t.head))
	filled := make([]bool, len(t.head))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), utf8.RuneCountInString(t.head[i]))
			filled[i] = filled[i] || cell != ""
		}
	}
	last := len(filled) - 1
	for last > 0 && !filled[last] {
		last--
	}
	line := func(cells []string, paint func(int, string) string) {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range cells[:last+1] {
			if !filled[i] {
				continue
			}
			if i < last {
				cell += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			}
			if b.Len() > len(indent) {
				b.WriteString("  ")
			}
			b.WriteString(paint(i, cell))
		}
		_, _ = io.WriteString(w, strings.TrimRight(b.String(), " ")+"\n")
	}
	line(t.head, func(_ int, cell string) string { return s.dim(cell) })
	for _, row := range t.rows {
		line(row, func(i int, cell string) string {
			if t.paint == nil {
				return cell
			}
			return t.paint(i, cell)
		})
	}
}

// wrap breaks text into lines of at most width runes with an indent before each.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		n := 0
		for i, word := range strings.Fields(paragraph) {
			length := utf8.RuneCountInString(word)
			switch {
			case i == 0:
				b.WriteString(indent)
			case n+1+length > width-len(indent):
				b.WriteString("\n" + indent)
				n = 0
			default:
				b.WriteByte(' ')
				n++
			}
			b.WriteString(word)
			n += length
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shorten cuts text to width runes, an ellipsis included.
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
