package cli

import (
	"strings"

	"fairlead/api"
)

// everyBackend says whether a command can be about every backend of an entrypoint (--all).
type everyBackend int

const (
	oneOnly     everyBackend = iota // it has no --all
	mayAskEvery                     // it has --all, which is not given
	asksEvery
)

// chooseBackend finds the one that a word means: an id or its beginning, a name, a
// container, an address.
func chooseBackend(e *api.Entrypoint, name string, all everyBackend) (*api.BackendHealth, error) {
	list := e.BackendHealth
	if len(list) == 0 {
		return nil, usage("fairlead health "+printable(e.ID)+" says why", "entrypoint %s has no backend now", printable(e.ID))
	}
	if all == asksEvery || name == "" && len(list) == 1 {
		return &list[0], nil
	}
	const most = 8
	var same, begin, near, words []string
	var found *api.BackendHealth
	for i := range list {
		b := &list[i]
		word := backendWord(b)
		words = append(words, word)
		switch {
		case name == "":
		case b.ID == name: // ids are unique, names may not be
			return b, nil
		case backendName(b) == name, b.Name != nil && *b.Name == name, b.Address == name, b.Container != nil && b.Container.ID == name:
			same, found = append(same, word), b
		case len(name) >= 4 && (strings.HasPrefix(b.ID, name) || strings.HasPrefix(name, b.ID)):
			begin = append(begin, word)
			if len(same) == 0 {
				found = b
			}
		case strings.Contains(backendName(b), name), strings.Contains(name, backendName(b)), strings.HasPrefix(b.Address, name), nearly(backendName(b), name):
			near = append(near, word)
		}
	}
	hits := same
	if len(hits) == 0 {
		hits = begin
	}
	names := func(list []string) string { return printable(strings.Join(list[:min(len(list), most)], ", ")) }
	switch {
	case name == "":
		one := "name one"
		if all == mayAskEvery {
			one += ", or say --all"
		}
		return nil, usage(one+": "+names(words), "entrypoint %s has %d backends", printable(e.ID), len(list))
	case len(hits) == 1:
		return found, nil
	case len(hits) > 1:
		return nil, usage("name one by its id: "+names(hits), "%s are called %s", plural(len(hits), "backend"), printable(name))
	case len(near) > 0:
		return nil, usage("did you mean "+names(near)+"?", "entrypoint %s has no backend %s", printable(e.ID), printable(name))
	}
	return nil, usage("its backends are "+names(words), "entrypoint %s has no backend %s", printable(e.ID), printable(name))
}

// backendWord names a backend with its id, once when they are the same.
func backendWord(b *api.BackendHealth) string {
	name := backendName(b)
	if name == b.ID {
		return name
	}
	return name + " (" + b.ID + ")"
}

// nearly reports whether two words differ in at most two letters that are next to each
// other or one that is wrong, missing or too many.
func nearly(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
