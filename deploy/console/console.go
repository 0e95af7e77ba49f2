// Package console reads the console blocks of pages: the commands that a reader is told
// to run, and what the reader then sees. Tests follow the pages with it.
package console

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Step is a command that a page shows, and what the reader then sees.
type Step struct {
	Line string
	// Want are pieces of the output, in their order; anything may be between them.
	Want []string
}

// Steps are the commands of a page's console blocks: a line that begins with "$ " is a
// command, those below it are its output, and "..." stands for lines that are left out.
func Steps(text string) []Step {
	var list []Step
	for _, block := range Blocks(text, "console") {
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				list = append(list, Step{Line: command})
				continue
			}
			if len(list) == 0 {
				continue
			}
			s := &list[len(list)-1]
			switch {
			case strings.TrimSpace(line) == "...":
				s.Want = append(s.Want, "")
			case len(s.Want) == 0:
				s.Want = append(s.Want, line)
			default:
				s.Want[len(s.Want)-1] += "\n" + line
			}
		}
	}
	return list
}

// Blocks are the fenced blocks of a page that are marked with a language.
func Blocks(text, language string) []string {
	var list []string
	for {
		_, rest, found := strings.Cut("\n"+text, "\n```"+language+"\n")
		if !found {
			return list
		}
		block, after, _ := strings.Cut(rest, "\n```")
		list, text = append(list, block), after
	}
}

// Check compares an output with what the page shows. Addresses, times, durations, ids
// and rates may differ, and so may what follows from their width: blanks and line ends.
func (s *Step) Check(output string) error {
	rest := words(output)
	for _, piece := range s.Want {
		want := words(piece)
		if len(want) == 0 {
			continue
		}
		at := -1
		for i := 0; i+len(want) <= len(rest) && at < 0; i++ {
			if slices.Equal(rest[i:i+len(want)], want) {
				at = i
			}
		}
		if at < 0 {
			return fmt.Errorf("%s does not show\n%s\nbut\n%s", s.Line, piece, output)
		}
		rest = rest[at+len(want):]
	}
	return nil
}

// varying is what differs from run to run, and what stands for it.
type varying struct {
	pattern *regexp.Regexp
	with    string
}

// variable lists what differs. Later ones see what earlier ones made of a text.
func variable() []varying {
	return []varying{
		{regexp.MustCompile(` --admin http://\S+`), ""},
		{regexp.MustCompile(`\S*fairlead-demo-\d+`), "DEMO"},
		{regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}(:\d+)?`), "ADDRESS"},
		{regexp.MustCompile(`\.localhost:\d+`), ".localhost:PORT"},
		{regexp.MustCompile(`\bport \d{4,5}\b`), "port PORT"},
		{regexp.MustCompile(`\d{2}:\d{2}:\d{2}(\.\d+)?`), "TIME"},
		{regexp.MustCompile(`\b\d+(\.\d+)?\s?(µs|ms|min|m|s|h|d)\b`), "TAKES"},
		{regexp.MustCompile(`TAKES( TAKES)+`), "TAKES"},
		{regexp.MustCompile(`\b\d+(\.\d+)? (requests/s|% errors|probes in a row)`), "N $2"},
		{regexp.MustCompile(`(Hostname:) \S+`), "$1 HOST"},
		{regexp.MustCompile(`\b[\w-]+[-_](hello|router)[-_](\d+)\b`), "$1-$2"},
		{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "ID"},
	}
}

func words(text string) []string {
	for _, v := range variable() {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	return strings.Fields(text)
}
