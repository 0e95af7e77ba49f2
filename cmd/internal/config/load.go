package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// Source is where settings come from. The zero value reads the usual files and
// neither flags nor environment.
type Source struct {
	// Path is the file of --config; "" looks at CONFIG_PATH, then at Usual.
	Path string
	// Env is the environment as os.Environ gives it.
	Env []string
	// Flags are the flags that were given, by the setting's path.
	Flags map[string]Flag
	// Usual are the files that are read when none is named, the first that exists;
	// nil means fairlead.yaml here and in /etc/fairlead.
	Usual []string
}

// Flag is a command line flag that was given.
type Flag struct {
	Name  string // "--http"
	Value string
}

// Loaded is the result of a reading.
type Loaded struct {
	Config Config
	// File is the file that was read, "" without one.
	File string
	// Warnings are mistakes that do not keep the router from starting, one line each.
	Warnings []string

	origins map[string]string // where each setting that was given came from
}

// reader collects settings, where each came from, and what is wrong.
type reader struct {
	config   Config
	index    map[string]leaf
	paths    []string
	origins  map[string]string
	problems Problems
	warnings []string
}

// Load reads flags, environment and file over the defaults. The error is Problems
// when the settings are wrong: all mistakes at once, each with its place.
func Load(s Source) (Loaded, error) {
	r := newReader()
	env := environment(s.Env)
	file, err := r.loadFile(s, env)
	if err != nil {
		return Loaded{}, err
	}
	r.readEnv(env)
	for _, path := range slices.Sorted(maps.Keys(s.Flags)) {
		flag := s.Flags[path]
		r.setFrom(flag.Name, path, flag.Value)
	}
	r.dockerEnv(env)
	if len(r.problems) == 0 {
		r.check()
	}
	if len(r.problems) > 0 {
		return Loaded{}, r.problems
	}
	return Loaded{Config: r.config, File: file, Warnings: r.warnings, origins: r.origins}, nil
}

func newReader() *reader {
	r := &reader{config: Default(), index: map[string]leaf{}, origins: map[string]string{}}
	for _, l := range leaves(&r.config) {
		r.index[l.path] = l
		r.paths = append(r.paths, l.path)
	}
	return r
}

// loadFile reads the named file, or the first usual one that exists.
func (r *reader) loadFile(s Source, env map[string]string) (string, error) {
	named, by := s.Path, "--config"
	if named == "" {
		named, by = env["CONFIG_PATH"], "CONFIG_PATH"
	}
	if named != "" {
		text, err := os.ReadFile(named)
		if err != nil {
			return "", fmt.Errorf("the file of %s cannot be read: %w", by, err)
		}
		r.readFile(named, text)
		return named, nil
	}
	usual := s.Usual
	if usual == nil {
		usual = []string{"fairlead.yaml", "/etc/fairlead/fairlead.yaml"}
	}
	for _, path := range usual {
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			r.readFile(path, text)
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("the configuration file cannot be read: %w", err)
		}
	}
	return "", nil
}

func (r *reader) problem(where, format string, args ...any) {
	r.problems = append(r.problems, Problem{Where: where, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) leaf(path string) (leaf, bool) {
	l, ok := r.index[path]
	return l, ok
}

func (r *reader) isSection(path string) bool {
	return slices.ContainsFunc(r.paths, func(p string) bool { return strings.HasPrefix(p, path+".") })
}

// setFrom sets a path that exists from a text.
func (r *reader) setFrom(where, path, text string) {
	if err := r.index[path].setText(text); err != nil {
		r.problem(where, "%s: %v", path, err)
		return
	}
	r.origins[path] = where
}

// unknown reports a path of the file that is no setting, with what may be meant.
func (r *reader) unknown(where, path string) {
	if fix, known := notYet(path); known {
		r.problems = append(r.problems, Problem{Where: where, Message: path + " is not in this version", Fix: fix})
		return
	}
	p := Problem{Where: where, Message: path + " is not a setting"}
	if near := r.meant(path); len(near) > 0 {
		p.Fix = "did you mean " + orList(near) + "?"
	} else {
		p.Fix = "permitted here: " + strings.Join(r.siblings(path), ", ")
	}
	r.problems = append(r.problems, p)
}

// siblings are the names that may stand where path stands.
func (r *reader) siblings(path string) []string {
	parent := ""
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent = path[:i+1]
	}
	var names []string
	for _, p := range r.paths {
		if rest, ok := strings.CutPrefix(p, parent); ok {
			name, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// meant returns the settings that a wrong path probably means: a name that is nearly
// right in its place, else the same name elsewhere.
func (r *reader) meant(path string) []string {
	i := strings.LastIndexByte(path, '.')
	parent, name := path[:i+1], path[i+1:]
	if near := nearest(name, r.siblings(path)); near != "" {
		return []string{parent + near}
	}
	var near []string
	for _, p := range r.paths {
		if strings.EqualFold(p[strings.LastIndexByte(p, '.')+1:], name) {
			near = append(near, p)
		}
	}
	return near
}
