package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
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
	cmd.Flags().StringArrayVarP(&o.files, "file", "f", nil, "read this `file` instead of the engine: a compose file (again for its overrides; - is standard input), or one of entrypoints")
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
	if err := o.readable(); err != nil {
		return nil, err
	}
	sources, err := p.collectors(ctx, settings, o)
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

// readable refuses files that are not there, before their readers speak of settings that
// nobody made.
func (o *sourceOptions) readable() error {
	for _, file := range slices.Concat(o.files, o.projects) {
		if file == compose.Stdin {
			continue
		}
		info, err := os.Stat(file)
		f := failure{code: exitUnreachable, cause: err}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.message, f.fix = "no such file: "+printable(file), "correct the path; - is standard input"
		case errors.Is(err, fs.ErrPermission):
			f.message, f.fix = "may not be read: "+printable(file), "give this user read permission"
		case err == nil && info.IsDir():
			f.message, f.fix = "a directory, not a file: "+printable(file), "name a file in it"
		default:
			continue
		}
		return &f
	}
	return nil
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
func (p *program) collectors(ctx context.Context, s *config.Config, o *sourceOptions) ([]collector, error) {
	if len(o.files)+len(o.projects) > 0 {
		return p.fileCollectors(ctx, s, o)
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
func (p *program) fileCollectors(ctx context.Context, s *config.Config, o *sourceOptions) ([]collector, error) {
	all := slices.Concat(o.files, o.projects)
	cfg := compose.Config{Env: p.Env, Label: app.LabelConfig(s)}
	if slices.Contains(all, compose.Stdin) {
		text, err := p.input(ctx)
		if err != nil {
			return nil, err
		}
		cfg.Stdin = text
	} else if first := all[0]; len(o.projects) == 0 {
		text, err := os.ReadFile(first) // what is wrong with it its reader says better
		if err != nil || !compose.IsCompose(text) {
			return fileOfEntrypoints(s, first, len(o.files) > 1)
		}
	}
	if len(o.files) > 0 {
		cfg.Projects = append(cfg.Projects, o.files)
	}
	for _, file := range o.projects {
		cfg.Projects = append(cfg.Projects, []string{file})
	}
	return []collector{compose.New(cfg)}, nil
}

func fileOfEntrypoints(s *config.Config, path string, more bool) ([]collector, error) {
	if more {
		return nil, usage("give one file of entrypoints, or compose files", "-f %s is no compose file, so it has no overrides", printable(path))
	}
	f, err := app.File(s, path, app.Logs{})
	if err != nil {
		return nil, usage("", "-f: %s", printable(err.Error()))
	}
	return []collector{f}, nil
}

// input reads standard input to its end.
func (p *program) input(ctx context.Context) ([]byte, error) {
	type read struct {
		text []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // it cannot be interrupted; the program ends without it
		text, err := io.ReadAll(p.In)
		done <- read{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, failed("", "interrupted")
	case r := <-done:
		if r.err != nil {
			return nil, failed("", "standard input cannot be read: %v", r.err)
		}
		return r.text, nil
	}
}
