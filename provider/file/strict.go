package file

import (
	"bytes"
	"errors"
	"io/fs"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"fairlead/router/route"
)

// Check reads the file once when Config.Strict is set, so that a start can fail. A file
// that is not there is waited for like any other. The error is an *InvalidError.
func (p *Provider) Check() error {
	if !p.cfg.Strict {
		return nil
	}
	text, err := read(p.cfg.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, problems := understand(p.cfg, text)
	if problems != nil {
		return &InvalidError{Path: p.cfg.Path, problems: problems}
	}
	return nil
}

// understand makes contents of a text, or says why it is refused as a whole.
func understand(cfg Config, text []byte) (contents, []problem) {
	doc, problems := decode(text)
	if problems != nil {
		return contents{}, problems
	}
	out, problems := build(cfg.Label, &doc)
	if problems == nil && cfg.Strict {
		problems = badChecks(text, &out)
	}
	if problems != nil {
		return contents{}, problems
	}
	return out, nil
}

// badChecks makes problems of what is wrong with health checks (W021), with their places.
func badChecks(text []byte, c *contents) []problem {
	var found []route.Diagnostic
	wanted := map[string]position{}
	for _, candidate := range c.candidates {
		for _, d := range candidate.Diagnostics {
			if d.Code == "W021" && len(found) < maxProblems {
				found, wanted[d.Label] = append(found, d), position{}
			}
		}
	}
	if found == nil {
		return nil
	}
	locate(text, wanted)
	problems := make([]problem, len(found))
	for i, d := range found {
		problems[i] = problem{at: wanted[d.Label], message: d.Label + ": refused by strict, without it W021: " + d.Message, hint: d.Hint}
	}
	slices.SortFunc(problems, byPlace)
	return problems
}

// locate finds the places of keys in a text that decode accepts.
func locate(text []byte, wanted map[string]position) {
	body, problems := parse(bytes.TrimPrefix(text, []byte("\ufeff")))
	if problems != nil {
		return
	}
	d := &decoder{anchors: map[string]ast.Node{}, wanted: wanted}
	d.collect(body, 0)
	var doc document
	d.into(body, reflect.ValueOf(&doc).Elem(), "", 0)
}

// note keeps the place of a key that is asked for.
func (d *decoder) note(path string, key ast.Node) {
	if _, asked := d.wanted[path]; asked {
		d.wanted[path] = positionOf(key)
	}
}
