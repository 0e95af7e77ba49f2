package file

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fairlead/provider/label"
)

// leaf is a key of the file that holds a value, with the label that it stands for.
type leaf struct{ key, label string }

// leavesOf lists the keys of a type in the order of its fields. A key below one that
// stands for a label belongs to that label.
func leavesOf(t reflect.Type, key, of string, labels map[string]string) (out []leaf) {
	switch t.Kind() {
	case reflect.Pointer:
		return leavesOf(t.Elem(), key, of, labels)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return leavesOf(t.Elem(), key+"[]", of, labels)
		}
	case reflect.Map:
		return []leaf{{key + ".<name>", of}}
	case reflect.Struct:
		for field := range t.Fields() {
			name := field.Tag.Get("key")
			if name == "" {
				continue // the decoder's own
			}
			below := strings.TrimPrefix(key+"."+name, ".")
			label := of
			if known, ok := labels[strings.TrimPrefix(below, "entrypoints[].")]; ok {
				label = known
			}
			out = append(out, leavesOf(field.Type, below, label, labels)...)
		}
		return out
	default:
	}
	return []leaf{{key, of}}
}

// keyTable is the section of the page that lists all keys.
func keyTable() string {
	labels := map[string]string{
		"config.headers": "headers.<Name>", "config.health_check.headers": "healthCheck.headers.<Name>",
		"config.error_pages": "errorPages.<code>", "config.path": "path, pathExact, pathRegex",
	}
	for name, key := range places {
		if _, ok := labels[key]; !ok {
			labels[key] = name
		}
	}
	for name, key := range backendPlaces {
		labels["backends[]."+key] = name
	}
	meanings := map[string]string{}
	for _, k := range label.Keys() {
		if _, ok := meanings[k.Name]; !ok {
			meanings[k.Name] = k.Meaning
		}
	}
	own := map[string]string{
		"name": "name of the entrypoint; its id is http_ and the name", "protocol": "Http, the default", "backends[].address": "IP address or name",
		"config.path.rule_type": "Prefix, Exact or Regex", "config.path.value": "path, or RE2 expression",
		"config.match_headers[].value": "its value; without it presence is enough", "config.match_query[].value": "its value; without it presence is enough",
		"config.headers[].value": "its value; empty deletes the header", "config.headers[].direction": "request (default), response or both",
		"config.error_pages.<name>": "body of the answer with that status",
	}
	var b strings.Builder
	b.WriteString("| Key | Label | Meaning |\n|---|---|---|\n")
	for _, l := range leavesOf(reflect.TypeFor[document](), "", "", labels) {
		shown := ""
		if l.label != "" {
			shown = "`" + strings.ReplaceAll(l.label, ", ", "`, `") + "`"
		}
		key := strings.TrimPrefix(l.key, "entrypoints[].")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, shown, cmp.Or(own[key], meanings[l.label]))
	}
	return b.String()
}

// TestPageListsEveryKey: the list of the page is that of the decoder.
func TestPageListsEveryKey(t *testing.T) {
	const page, begin, end = "../../docs/reference/file.md", "<!-- Generated: go test ./provider/file -update -->\n\n", "<!-- End -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no generated list", page)
	}
	want := before + begin + keyTable() + "\n" + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s is not current (go test ./provider/file -update writes it anew)", page)
	}
	for _, key := range []string{"config.drain_timeout_ms", "config.hold_for_ms", "backends[].dial_timeout_ms", "config.health_check.enabled"} {
		if !slices.Contains(strings.Fields(want), "`"+key+"`") {
			t.Errorf("%s is not in the list", key)
		}
	}
}
