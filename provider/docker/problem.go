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

// Problem is an error of the engine's connection in words for people.
type Problem struct {
	// Text says what happened and where.
	Text string
	// Hint says what to do about it.
	Hint string

	cause error
}

// Error implements error; the hint is not part of it.
func (p *Problem) Error() string { return p.Text }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.cause }

func problem(cause error, hint, format string, args ...any) *Problem {
	return &Problem{Text: fmt.Sprintf(format, args...), Hint: hint, cause: cause}
}

// describe returns text and hint of any error.
func describe(err error) (text, hint string) {
	var p *Problem
	if errors.As(err, &p) {
		return p.Text, p.Hint
	}
	return err.Error(), ""
}
