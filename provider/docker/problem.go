package docker

import (
	"errors"
	"fmt"
)

// Errors that callers of an engine tell apart.
var (
	errNotFound = errors.New("no such container")
	errDenied   = errors.New("refused by the engine or its socket proxy")
)

// EngineError is an error of the engine's connection in words for people.
type EngineError struct {
	// Text says what happened and where.
	Text string
	// Hint says what to do about it.
	Hint string

	cause error
}

// Error implements error; the hint is not part of it.
func (p *EngineError) Error() string { return p.Text }

// Unwrap returns the cause.
func (p *EngineError) Unwrap() error { return p.cause }

func problem(cause error, hint, format string, args ...any) *EngineError {
	return &EngineError{Text: fmt.Sprintf(format, args...), Hint: hint, cause: cause}
}

// neverRead adds to the hint about an engine that was never read what else may be done.
func (c *Config) neverRead(hint string) string {
	switch {
	case c.Without == "":
		return hint
	case hint == "":
		return c.Without
	}
	return hint + "; or " + c.Without
}

// describe returns text and hint of any error.
func describe(err error) (text, hint string) {
	if p, ok := errors.AsType[*EngineError](err); ok {
		return p.Text, p.Hint
	}
	return err.Error(), ""
}
