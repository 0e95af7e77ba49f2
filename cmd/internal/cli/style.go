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
	case "up", "ok", "unchecked", "ready", "served", "closed":
		return s.good(text)
	case "down", "ejected", "panic", "open", "failed", "error", "unavailable", "no_route", "refused":
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

// table writes aligned columns. Cells are plain; paint colours one.
type table struct {
	head  []string
	rows  [][]string
	notes map[int][]string // lines below a row
	// paint returns what a cell of a column looks like; nil leaves all plain.
	paint func(column int, cell string) string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// note puts a line below the last row.
func (t *table) note(text string) {
	if text == "" {
		return
	}
	if t.notes == nil {
		t.notes = map[int][]string{}
	}
	t.notes[len(t.rows)-1] = append(t.notes[len(t.rows)-1], text)
}

// write prints the table with an indent; empty columns are left out.
func (t *table) write(w io.Writer, indent string, s style) {
	columns := t.layout()
	t.line(w, indent, columns, t.head, func(_ int, cell string) string { return s.dim(cell) })
	paint := t.paint
	if paint == nil {
		paint = func(_ int, cell string) string { return cell }
	}
	for i, row := range t.rows {
		t.line(w, indent, columns, row, paint)
		for _, note := range t.notes[i] {
			_, _ = io.WriteString(w, wrap(note, indent+"    ", 110))
		}
	}
}

// column is one that is shown.
type column struct{ index, width int }

// layout measures the columns that hold anything.
func (t *table) layout() []column {
	var list []column
	for i := range t.head {
		width := 0
		for _, row := range t.rows {
			width = max(width, utf8.RuneCountInString(row[i]))
		}
		if width > 0 {
			list = append(list, column{i, max(width, utf8.RuneCountInString(t.head[i]))})
		}
	}
	return list
}

func (t *table) line(w io.Writer, indent string, columns []column, cells []string, paint func(int, string) string) {
	var b strings.Builder
	b.WriteString(indent)
	for n, c := range columns {
		cell := cells[c.index]
		if n > 0 {
			b.WriteString("  ")
		}
		b.WriteString(paint(c.index, cell))
		if n < len(columns)-1 {
			b.WriteString(strings.Repeat(" ", c.width-utf8.RuneCountInString(cell)))
		}
	}
	_, _ = io.WriteString(w, strings.TrimRight(b.String(), " ")+"\n")
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
