// Package compose reads compose files as a router would find their containers after
// `docker compose up`. It starts nothing and asks no engine: what an image exposes and
// which addresses the containers get it cannot know.
package compose

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/goccy/go-yaml"
	"github.com/sirupsen/logrus"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// Name is the provider's name in answers.
const Name = "compose"

// Config says what is read.
type Config struct {
	// Projects are the files of each project; the later files of one project override
	// its earlier ones, as compose's own -f does.
	Projects [][]string
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
	missing := map[string]variable{}
	for _, files := range r.cfg.Projects {
		project, err := r.load(ctx, files, missing)
		if err != nil {
			return route.Snapshot{}, err
		}
		all = append(all, services(project)...)
	}
	s := r.snapshot(all)
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		s.Global = append(s.Global, unset(name, missing[name]))
	}
	return s, nil
}

// load reads one project and adds the variables that are missing: interpolation, extends, include, label files, every profile.
func (r *Reader) load(ctx context.Context, files []string, missing map[string]variable) (*types.Project, error) {
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	looked := map[string]bool{} // for in vain
	options, err := cli.NewProjectOptions(files,
		cli.WithWorkingDirectory(filepath.Dir(files[0])), cli.WithEnv(r.cfg.Env), cli.WithDotEnv,
		cli.WithDefaultProfiles("*"), cli.WithoutEnvironmentResolution, cli.WithResolvedPaths(true),
		cli.WithLoadOptions(func(o *loader.Options) {
			if o.Interpolate == nil {
				return // the files are only being listed
			}
			lookup := o.Interpolate.LookupValue
			o.Interpolate.LookupValue = func(name string) (string, bool) {
				value, ok := lookup(name)
				if !ok {
					mu.Lock()
					looked[name] = true
					mu.Unlock()
				}
				return value, ok
			}
		}))
	if err != nil {
		return nil, r.invalid(files, err)
	}
	project, err := quietly(func() (*types.Project, error) { return options.LoadProject(ctx) })
	if err != nil {
		return nil, r.invalid(files, err)
	}
	for name, v := range labelVariables(files) {
		switch {
		case !looked[name]:
		case v.braced:
			missing[name] = v
		default:
			missing[v.label] = v // once, however many pieces it fell into
		}
	}
	return project, nil
}

// quietly keeps the library's own warnings from the terminal: they are told as findings.
func quietly[T any](f func() (T, error)) (T, error) {
	logger := logrus.StandardLogger()
	out := logger.Out
	logger.SetOutput(io.Discard)
	defer logger.SetOutput(out)
	return f()
}

func (r *Reader) invalid(files []string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &InvalidError{Files: strings.Join(files, ", "), Err: r.redacted(err)}
}

// quoted is where the texts of errors show what stands in the file, rather than its place.
var quoted = regexp.MustCompile("`[^`]*`|(parsing|escape any \\$ with another \\$\\.|invalid (syntax|value|boolean|duration|number):?) .*")

// redacted makes one line of an error's text, and not a long one, without values: any of
// them may be a secret.
func (r *Reader) redacted(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = quoted.ReplaceAllStringFunc(text, func(found string) string {
		if place := quoted.FindStringSubmatch(found)[1]; place != "" {
			return place
		}
		return "the value"
	})
	const most = 300
	if len(text) > most {
		text = text[:most] + "..."
	}
	return errors.New(text)
}
