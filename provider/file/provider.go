package file

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// Config says which file to read.
type Config struct {
	// Path of the file; relative to the working directory at the time of New.
	Path string
	// Label has the settings that values are judged by (names of CAs, the tick).
	// Prefix and ExposeByDefault do not matter here.
	Label label.Config
	// Strict refuses a file with a bad health check (W021) as a whole.
	Strict bool
	Log    zerolog.Logger
}

// Provider gives the entrypoints of one file and watches it.
type Provider struct {
	cfg Config
}

// New checks the configuration and reads nothing: a file that is missing is waited for.
func New(cfg Config) (*Provider, error) {
	if cfg.Path == "" {
		return nil, errors.New("providers.file.path is empty: name a YAML or JSON file")
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, errors.New("providers.file.path: the working directory is gone: give an absolute path")
	}
	cfg.Path = path
	return &Provider{cfg: cfg}, nil
}

// Name is "file".
func (p *Provider) Name() string { return Name }

// Collect reads the file once. The error names file, line and column, or says what
// kept it from being read.
func (p *Provider) Collect(ctx context.Context) (route.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return route.Snapshot{}, err
	}
	s := newState(p.cfg, time.Now())
	text, err := read(p.cfg.Path)
	if err != nil {
		return route.Snapshot{}, err
	}
	if err := s.apply(text, time.Now()); err != nil {
		return route.Snapshot{}, err
	}
	return s.snapshot(), nil
}
