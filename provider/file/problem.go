package file

import (
	"cmp"
	"fmt"
	"strings"
)

// position is a place in the file, both from 1.
type position struct{ line, column int }

// problem is a mistake in the form of the file. It never holds a value.
type problem struct {
	at      position
	message string
	hint    string
}

// text is the problem in one line: file:line:column: message; hint.
func (p problem) text(file string) string {
	out := file
	if p.at.line > 0 {
		out += fmt.Sprintf(":%d:%d", p.at.line, p.at.column)
	}
	out += ": " + p.message
	if p.hint != "" {
		out += "; " + p.hint
	}
	return out
}

// InvalidError says why a file is refused as a whole. Its text names file, line and
// column of each mistake and holds no values of the file.
type InvalidError struct {
	Path     string
	problems []problem
}

// Error implements error.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.problems))
	for i, p := range e.problems {
		lines[i] = p.text(e.Path)
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds what one file can make us say.
const maxProblems = 20

// suggest returns a hint that names the known key nearest to an unknown one.
func suggest(unknown string, known []string) string {
	best, at := "", 3
	for _, k := range known {
		written := strings.ToLower(unknown)
		d := distance(written, k, at)
		if unit := unitOf(k); unit != "" {
			// A unit that is missing, or is another one, is one mistake, whatever its letters.
			d = min(d, 1+distance(strings.TrimSuffix(written, unitOf(written)), strings.TrimSuffix(k, unit), at))
		}
		if d < at {
			best, at = k, d
		}
	}
	if best == "" || at >= max(len(unknown), len(best)) {
		return "known here: " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// unitOf is the unit at the end of a key, "" without one.
func unitOf(key string) string {
	for _, unit := range []string{"_ms", "_secs", "_percent", "_seconds", "_s"} {
		if strings.HasSuffix(key, unit) {
			return unit
		}
	}
	return ""
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours between two words; what reaches limit is limit.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}

func abs(n int) int { return max(n, -n) }

// byPlace sorts problems as a reader meets them.
func byPlace(a, b problem) int {
	return cmp.Or(a.at.line-b.at.line, a.at.column-b.at.column, strings.Compare(a.message, b.message))
}
