// Package compose reads compose files as a router would find their containers after
// `docker compose up`. It starts nothing and asks no engine: what an image exposes and
// which addresses the containers get it cannot know.
package compose

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// Name is the provider's name in answers.
const Name = "compose"

// Stdin is the name of a file that is read from standard input, as for compose.
const Stdin = "-"

// Config says what is read.
type Config struct {
	// Projects are the files of each project; the later files of one project override
	// its earlier ones, as compose's own -f does.
	// A file named Stdin is what Stdin holds.
	Projects [][]string
	Stdin    []byte
	Env      []string // NAME=value, for interpolation; a project's .env file is read, too
	Label    label.Config
}

var (
	topKey         = regexp.MustCompile(`(?m)^(services|include)[ \t]*:`)
	entrypointsKey = regexp.MustCompile(`(?m)^entrypoints[ \t]*:`)
)

// Reader reads compose files.
type Reader struct{ cfg Config }

// New returns a Reader; it reads nothing yet.
func New(cfg Config) *Reader { return &Reader{cfg: cfg} }

// InvalidError is a compose file that compose itself would refuse.
type InvalidError struct {
	Files string
	Err   error
}

// Error implements error.
func (e *InvalidError) Error() string {
	return "not a valid compose file: " + e.Files + ": " + e.Err.Error()
}

// Unwrap returns what the file is refused for.
func (e *InvalidError) Unwrap() error { return e.Err }

// IsCompose reports whether a text is a compose file rather than a file of entrypoints:
// it has services, or includes, and no entrypoints at its top. One that cannot be read
// as YAML is told by the same words.
func IsCompose(text []byte) bool {
	var top map[string]any
	if err := yaml.Unmarshal(text, &top); err == nil {
		_, entrypoints := top["entrypoints"]
		_, services := top["services"]
		_, include := top["include"]
		return !entrypoints && (services || include)
	}
	return topKey.Match(text) && !entrypointsKey.Match(text)
}

// Collect reads all projects once. An error is a file that cannot be read (fs errors) or
// an InvalidError; mistakes in labels are diagnostics of the snapshot.
func (r *Reader) Collect(ctx context.Context) (route.Snapshot, error) {
	var all []service
	var told []route.Diagnostic
	named := map[string][]string{} // files by the name of their project
	for _, files := range r.cfg.Projects {
		project, unset, err := r.load(ctx, files)
		if err != nil {
			return route.Snapshot{}, err
		}
		all, told = append(all, services(project)...), append(told, unset...)
		if first := named[project.Name]; first != nil {
			told = append(told, sameName(project.Name, first, files))
			continue
		}
		named[project.Name] = files
	}
	s := r.snapshot(all)
	s.Global = append(s.Global, once(told)...)
	return s, nil
}

// sameName tells of two projects that compose would take for one.
func sameName(name string, first, second []string) route.Diagnostic {
	return route.Diagnose("W135", "give each a `name:` at its top; a file and its overrides are named with -f each",
		"%s and %s are both project %s: compose takes them for one, and `up` of one replaces the containers of the other whose services have the same names",
		fileNames(first), fileNames(second), name)
}

// once sorts findings, which several projects may share.
func once(list []route.Diagnostic) []route.Diagnostic {
	slices.SortFunc(list, func(a, b route.Diagnostic) int {
		return cmp.Or(strings.Compare(a.Message, b.Message), strings.Compare(a.Label, b.Label))
	})
	return slices.Compact(list)
}
