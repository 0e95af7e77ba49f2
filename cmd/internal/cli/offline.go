package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead/cmd/internal/app"
	"fairlead/cmd/internal/config"
	"fairlead/provider/compose"
	"fairlead/provider/docker"
	"fairlead/router"
	"fairlead/router/route"
)

// engineFailure tells the words of the Docker provider from its advice.
func engineFailure(err error) error {
	if engine, ok := errors.AsType[*docker.EngineError](err); ok {
		return failed(printable(engine.Hint), "%s", printable(engine.Text))
	}
	return failed("", "%s", printable(err.Error()))
}

// sourceOptions say what to read without a running router.
type sourceOptions struct {
	// files are those of -f: one of entrypoints, or a compose file and its overrides.
	files []string
	// projects are compose files of further projects.
	projects []string
	config   string // --config
	docker   optional
}

func (o *sourceOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&o.files, "file", "f", nil, "read this `file` instead of the engine: a compose file (again for its overrides), or one of entrypoints")
	cmd.Flags().StringVar(&o.config, "config", "", "configuration `file` (default: CONFIG_PATH, ./fairlead.yaml, /etc/fairlead/fairlead.yaml)")
	o.dockerFlag(cmd)
}

func (o *sourceOptions) dockerFlag(cmd *cobra.Command) {
	cmd.Flags().Var(&o.docker, "docker", "`address` of the engine; empty reads none (default: DOCKER_HOST, else the local socket)")
}

// source is where the settings of a router here come from.
func (o *sourceOptions) source(env []string) config.Source {
	source := config.Source{Path: o.config, Env: env}
	if o.docker.given {
		setting, flag := dockerSetting(o.docker.value)
		source.Flags = map[string]config.Flag{setting: flag}
	}
	return source
}

// given names a flag that was given, "" when none was.
func (o *sourceOptions) given() string {
	switch {
	case len(o.files) > 0:
		return "-f"
	case o.docker.given:
		return "--docker"
	case o.config != "":
		return "--config"
	}
	return ""
}

// collector reads its source once.
type collector interface {
	Collect(ctx context.Context) (route.Snapshot, error)
}

// offline returns the view of what a router would find at its start.
func (p *program) offline(ctx context.Context, o *sourceOptions) (*router.View, error) {
	settings, err := p.settings(o)
	if err != nil {
		return nil, misled(err)
	}
	sources, err := p.collectors(settings, o)
	if err != nil {
		return nil, misled(err)
	}
	snapshots := make([]route.Snapshot, 0, len(sources))
	for _, source := range sources {
		s, err := source.Collect(ctx)
		if err != nil {
			return nil, unreadable(err)
		}
		snapshots = append(snapshots, s)
	}
	return router.Offline(snapshots...), nil
}

// misledError is a mistake in the configuration or the environment, for commands whose
// exit code 1 is about what they found.
type misledError struct{ err error }

// Error implements error.
func (e *misledError) Error() string { return e.err.Error() }

// Unwrap returns the mistake.
func (e *misledError) Unwrap() error { return e.err }

// misled makes a mistake in the settings one in the usage.
func misled(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		f.code = exitUsage
	}
	return &misledError{err}
}

// unreadable is the failure of a source; its own words say which one it is.
func unreadable(err error) error {
	f := &failure{code: exitUnreachable, cause: err}
	if engine, ok := errors.AsType[*docker.EngineError](err); ok {
		f.message, f.fix = printable(engine.Text), printable(engine.Hint)
		return f
	}
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		lines = append(lines, printable(line))
	}
	f.message = strings.Join(lines, "\n")
	return f
}

// load reads the settings. A file that cannot be read is no mistake in the usage.
func load(source config.Source) (config.Loaded, error) {
	loaded, err := config.Load(source)
	if err != nil && config.AsProblems(err) == nil {
		f := &failure{code: exitFailed, message: err.Error()}
		if source.Path != "" {
			f.code = exitUsage // the flag names it
		}
		err = f
	}
	return loaded, err
}

// settings reads the configuration that a router here would start with.
func (p *program) settings(o *sourceOptions) (*config.Config, error) {
	loaded, err := load(o.source(p.Env))
	if err != nil {
		return nil, err
	}
	return &loaded.Config, nil
}

// collectors are the sources of the settings, or only the file that was named.
func (p *program) collectors(s *config.Config, o *sourceOptions) ([]collector, error) {
	if len(o.files)+len(o.projects) > 0 {
		return p.fileCollectors(s, o)
	}
	var list []collector
	if s.Providers.Docker.Enabled {
		d, err := app.Docker(s, p.lookup("FAIRLEAD_CONTAINER_ID"), app.Logs{})
		if err != nil {
			return nil, engineFailure(err)
		}
		list = append(list, d)
	}
	if path := s.Providers.File.Path; path != "" {
		f, err := app.File(s, path, app.Logs{})
		if err != nil {
			return nil, failed("", "%s", printable(err.Error()))
		}
		list = append(list, f)
	}
	return list, nil
}

// fileCollectors are those of the files that were named.
func (p *program) fileCollectors(s *config.Config, o *sourceOptions) ([]collector, error) {
	first := slices.Concat(o.files, o.projects)[0]
	text, err := os.ReadFile(first) // what is wrong with it its reader says better
	if (err != nil || !compose.IsCompose(text)) && len(o.projects) == 0 {
		if len(o.files) > 1 {
			return nil, usage("give one file of entrypoints, or compose files", "-f %s is no compose file, so it has no overrides", printable(first))
		}
		f, err := app.File(s, first, app.Logs{})
		if err != nil {
			return nil, usage("", "-f: %s", printable(err.Error()))
		}
		return []collector{f}, nil
	}
	var projects [][]string
	if len(o.files) > 0 {
		projects = append(projects, o.files)
	}
	for _, file := range o.projects {
		projects = append(projects, []string{file})
	}
	return []collector{compose.New(compose.Config{Projects: projects, Env: p.Env, Label: app.LabelConfig(s)})}, nil
}
