package config

import (
	"errors"
	"strings"
)

// Problem is one mistake in the settings.
type Problem struct {
	Where   string // file:line:column, the variable or the flag
	Message string // what is wrong, with the setting's path
	Fix     string // what to do, "" when the message says it
}

// Title says where and what, without the fix.
func (p Problem) Title() string {
	if p.Where == "" {
		return p.Message
	}
	return p.Where + ": " + p.Message
}

// Error is one line: where, what, what to do.
func (p Problem) Error() string {
	if p.Fix == "" {
		return p.Title()
	}
	return p.Title() + ": " + p.Fix
}

// Problems are all mistakes of one reading, in the order in which they were found.
type Problems []Problem

// Error is one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// AsProblems returns the single mistakes behind an error of Load, nil for another error.
func AsProblems(err error) Problems {
	list, _ := errors.AsType[Problems](err)
	return list
}
