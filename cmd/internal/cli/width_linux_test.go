package cli

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// onTerminal is what a run writes to a terminal of so many columns.
func (w *world) onTerminal(columns uint16, args ...string) string {
	w.t.Helper()
	person, program := pty(w.t)
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		w.t.Fatal(err)
	}
	seen := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(person) // ends with EIO when nobody has the other end
		seen <- string(text)
	}()
	Main(w.t.Context(), args, Streams{In: strings.NewReader(""), Out: program, Err: program, Env: append(w.env, "NO_COLOR=1")})
	if err := program.Close(); err != nil {
		w.t.Fatal(err)
	}
	return strings.ReplaceAll(<-seen, "\r\n", "\n")
}

// TestSentencesFitTheTerminal: on a terminal no sentence is wider than its lines, nor
// narrower than they allow, and elsewhere they are as wide as ever.
func TestSentencesFitTheTerminal(t *testing.T) {
	v := view(t, someVerdicts())
	v.Entrypoints[0].Health.Explain = strings.Repeat("word ", 60) + "end."
	w := liveWorld(t, v)
	sentence := regexp.MustCompile(`^ *(word|[Pp]anic|Hint|fix|In |Out |A label|The route|error:|Reads|Compose files|Shows) ?.* `)
	for _, args := range [][]string{{"health"}, {"explain", "http_all"}, {"explain", "E104"}, {"route", "resolve", "http://shop.localhost/api"}, {"health", strings.Repeat("x ", 60)}, {"help", "validate"}} {
		for _, columns := range []int{60, 80, 160} {
			out, most := w.onTerminal(uint16(columns), args...), 0
			for line := range strings.SplitSeq(out, "\n") {
				if sentence.MatchString(line) {
					most = max(most, utf8.RuneCountInString(line))
				}
			}
			if most == 0 || most > columns {
				t.Errorf("%v on %d columns has lines of %d:\n%s", args, columns, most, out)
			}
		}
	}
	for columns, want := range map[int]int{80: 78, 160: 158} {
		most := 0
		for line := range strings.SplitSeq(w.onTerminal(uint16(columns), "health"), "\n") {
			if strings.HasPrefix(line, "  word") {
				most = max(most, len(line)+len(" wor"))
			}
		}
		if most < want {
			t.Errorf("%d columns are filled to %d", columns, most)
		}
	}
	for line := range strings.SplitSeq(w.run("health").out, "\n") {
		if strings.HasPrefix(line, "  word") && len(line) > usualWidth {
			t.Errorf("without a terminal %d: %s", len(line), line)
		}
	}
}
