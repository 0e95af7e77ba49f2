package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// recording holds the answers of a real engine, byte for byte.
type recording struct {
	list, networks, version []byte
	inspect                 map[string][]byte // by id
	named                   map[string][]byte // by the name in the file name
	events                  [][]byte
}

// momentary names the recordings of containers that are in the list under another
// name too, in a state they were in for a while.
var momentary = []string{"starting", "paused", "exited", "missing"}

// LoadRecording returns an engine that answers as a real one did: folder holds
// list.json, networks.json, version.json, inspect.<name>.json, ping.head and
// events.all.jsonl.
func LoadRecording(folder fs.FS, style Style) (*Engine, error) {
	e := New(style)
	r := &recording{inspect: map[string][]byte{}, named: map[string][]byte{}}
	var err error
	read := func(name string) []byte {
		data, readErr := fs.ReadFile(folder, name)
		if readErr != nil && err == nil {
			err = fmt.Errorf("recording: %w", readErr)
		}
		return data
	}
	r.list, r.networks, r.version = read("list.json"), read("networks.json"), read("version.json")
	for line := range bytes.SplitSeq(read("events.all.jsonl"), []byte("\n")) {
		if bytes.Contains(line, []byte(`"Action"`)) {
			r.events = append(r.events, line)
		}
	}
	files, globErr := fs.Glob(folder, "inspect.*.json")
	if err == nil {
		err = globErr
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(path.Base(file), "inspect."), ".json")
		r.named[name] = read(file)
		if !slices.Contains(momentary, name) {
			r.inspect[idOf(r.named[name])] = r.named[name]
		}
	}
	if err != nil {
		return nil, err
	}
	var v struct{ Version, ApiVersion, MinAPIVersion string }
	if err := json.Unmarshal(r.version, &v); err != nil {
		return nil, fmt.Errorf("recording: version.json: %w", err)
	}
	e.version, e.maxAPI, e.minAPI, e.recorded = v.Version, v.ApiVersion, v.MinAPIVersion, r
	return e, nil
}

func idOf(inspect []byte) string {
	var c struct{ ID string }
	if json.Unmarshal(inspect, &c) != nil {
		return ""
	}
	return c.ID
}

// Show lets a container be as it was recorded under that name from now on ("paused").
func (e *Engine) Show(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	raw, ok := e.recorded.named[name]
	if !ok {
		panic("enginetest: nothing recorded as " + name + ", only " + strings.Join(slices.Sorted(maps.Keys(e.recorded.named)), ", "))
	}
	e.recorded.inspect[idOf(raw)] = raw
}

// Play sends all recorded events, in their order and with their recorded times.
func (e *Engine) Play() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, line := range e.recorded.events {
		var m struct {
			Type, Action string
			Actor        struct{ ID string }
		}
		if json.Unmarshal(line, &m) == nil {
			e.emit(Event{Type: m.Type, Action: m.Action, ID: m.Actor.ID, raw: line})
		}
	}
}
