package compose

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"

	"fairlead/router/route"
)

// load reads one project as compose does: interpolation, extends, include, label files,
// every profile. The findings are variables of its labels that nobody set.
func (r *Reader) load(ctx context.Context, files []string) (*types.Project, []route.Diagnostic, error) {
	details := types.ConfigDetails{WorkingDir: workingDir(files)}
	for _, file := range files {
		one, err := r.read(file)
		if err != nil {
			return nil, nil, err
		}
		details.ConfigFiles = append(details.ConfigFiles, one)
	}
	var err error
	if details.Environment, err = r.environment(details.WorkingDir); err != nil {
		return nil, nil, r.invalid(files, err)
	}
	var lacking variables
	name, named := details.Environment["COMPOSE_PROJECT_NAME"], true
	if name == "" {
		name, named = loader.NormalizeProjectName(filepath.Base(details.WorkingDir)), false
	}
	project, err := quietly(func() (*types.Project, error) {
		return loader.LoadWithContext(ctx, details, loader.WithProfiles([]string{"*"}), lacking.watch,
			func(o *loader.Options) {
				o.SetProjectName(name, named)
				o.ResolvePaths, o.SkipResolveEnvironment = true, true
			})
	})
	if err != nil {
		return nil, nil, r.invalid(files, err)
	}
	return project, lacking.findings(r.cfg.Label, project), nil
}

// read reads one of a project's files. An error is the file system's.
func (r *Reader) read(file string) (types.ConfigFile, error) {
	if file == Stdin {
		return types.ConfigFile{Filename: file, Content: r.cfg.Stdin}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return types.ConfigFile{}, err
	}
	return types.ConfigFile{Filename: absolute(file), Content: text}, nil
}

// workingDir is the directory of a project: that of its first file, as for compose.
func workingDir(files []string) string {
	for _, file := range files {
		if file != Stdin {
			return filepath.Dir(absolute(file))
		}
	}
	return absolute(".")
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil { // the working directory is gone
		return path
	}
	return abs
}

// environment is what interpolation knows: the environment, and below it the files that
// COMPOSE_ENV_FILES lists, or the .env file of the project.
func (r *Reader) environment(dir string) (types.Mapping, error) {
	env := types.Mapping{}
	for _, one := range r.cfg.Env {
		if name, value, ok := strings.Cut(one, "="); ok {
			env[name] = value
		}
	}
	var files []string
	disabled, _ := strconv.ParseBool(env["COMPOSE_DISABLE_ENV_FILE"])
	switch list, beside := env["COMPOSE_ENV_FILES"], filepath.Join(dir, ".env"); {
	case list != "":
		files = strings.Split(list, ",")
	case !disabled && isFile(beside):
		files = []string{beside}
	}
	found, err := quietly(func() (map[string]string, error) { return dotenv.GetEnvFromFile(env, files) })
	if err != nil {
		return nil, err
	}
	return env.Merge(found), nil
}

// isFile is false for what may not be looked at, too: compose goes on without it.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
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
	return &InvalidError{Files: fileNames(files), Err: redacted(err)}
}

func fileNames(files []string) string {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file
		if file == Stdin {
			names[i] = "standard input"
		}
	}
	return strings.Join(names, ", ")
}
