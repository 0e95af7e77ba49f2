package cli

import (
	"io"
	"math"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"fairlead/router/route"
)

// style colours words when the output is a terminal and nobody objects, and breaks
// sentences where its lines end.
type style struct {
	colour bool
	width  int  // of a line
	fits   bool // the width is a terminal's
}

// Widths of lines: where there is no terminal, and the least that sentences are broken to.
const (
	usualWidth = 110
	leastWidth = 40
)

func (p *program) style(w io.Writer) style {
	s := style{colour: p.lookup("NO_COLOR") == "" && p.lookup("TERM") != "dumb" && terminal(w), width: usualWidth}
	if width := terminalWidth(w); width > 0 {
		s.width, s.fits = max(width, leastWidth), true
	}
	return s
}

// terminalWidth is the width of a terminal's lines, 0 for anything else.
func terminalWidth(w io.Writer) int {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// line is style for texts that stay on one line where no terminal breaks it: others
// search them.
func (s style) line() style {
	if !s.fits {
		s.width = math.MaxInt
	}
	return s
}

// sentence breaks a text into lines with an indent, without the last newline.
func (s style) sentence(indent, text string) string {
	return strings.TrimRight(wrap(text, indent, s.width), "\n")
}

// behind is sentence for a text that stands behind a head, which is as wide as given;
// the lines below begin with the indent.
func (s style) behind(head string, wide int, indent, text string) string {
	return head + strings.TrimRight(wrapFrom(wide, text, indent, s.width), "\n")
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
			_, _ = io.WriteString(w, wrap(note, indent+"    ", s.width))
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
func wrap(text, indent string, width int) string { return wrapFrom(0, text, indent, width) }

// wrapFrom is wrap for a text whose first line has something before it already, as wide
// as given; 0 is nothing.
func wrapFrom(taken int, text, indent string, width int) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if utf8.RuneCountInString(paragraph)+max(taken, len(indent)) <= width { // as it is, with its own spaces
			if taken == 0 && paragraph != "" {
				b.WriteString(indent)
			}
			b.WriteString(paragraph + "\n")
			taken = 0
			continue
		}
		n := max(taken-len(indent), 0)
		for i, word := range strings.Fields(paragraph) {
			length := utf8.RuneCountInString(word)
			switch {
			case i == 0 && taken == 0:
				b.WriteString(indent)
			case i == 0:
				taken = 0
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
