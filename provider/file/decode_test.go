package file

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const canary = "c4nary-s3cret"

// TestProblems: each mistake in the form is named with its place and what to do; the
// values of the file are in none of them.
func TestProblems(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "f.yaml: the file is empty; write `entrypoints: []` to route nothing"},
		"only comments":     {"# nothing\n\n# here\n", "f.yaml: the file is empty; write `entrypoints: []` to route nothing"},
		"null list":         {"entrypoints:\n", "f.yaml:1:1: the key entrypoints is missing; write `entrypoints: []` to route nothing"},
		"misspelt":          {"entrypoint: []\n", `f.yaml:1:1: unknown key "entrypoint"; did you mean "entrypoints"?`},
		"misspelt deep":     {"entrypoints:\n  - name: a\n    config:\n      hostname: [a]\n", `f.yaml:4:7: entrypoints[0].config: unknown key "hostname"; did you mean "hostnames"?`},
		"unit forgotten":    {"entrypoints:\n  - config:\n      drain_timeout: 5\n", `f.yaml:3:7: entrypoints[0].config: unknown key "drain_timeout"; did you mean "drain_timeout_ms"?`},
		"another unit":      {"entrypoints:\n  - config:\n      circuit_breaker: {cooldown_ms: 5}\n", `f.yaml:3:25: entrypoints[0].config.circuit_breaker: unknown key "cooldown_ms"; did you mean "cooldown_secs"?`},
		"unit and letters":  {"entrypoints:\n  - config:\n      hold_fro: 5\n", `f.yaml:3:7: entrypoints[0].config: unknown key "hold_fro"; did you mean "hold_for_ms"?`},
		"percent forgotten": {"entrypoints:\n  - config:\n      health_check: {jitter: 5}\n", `f.yaml:3:22: entrypoints[0].config.health_check: unknown key "jitter"; did you mean "jitter_percent"?`},
		"swapped letters":   {"entrypoints: [{anme: a}]\n", `f.yaml:1:16: entrypoints[0]: unknown key "anme"; did you mean "name"?`},
		"far off":           {"entrypoints: [{zzzzzzzz: a}]\n", `f.yaml:1:16: entrypoints[0]: unknown key "zzzzzzzz"; known here: name, protocol, backends, config`},
		"not in this place": {"entrypoints: [{hostnames: [a]}]\n", `f.yaml:1:16: entrypoints[0]: unknown key "hostnames"; known here: name, protocol, backends, config`},
		"key is a number":   {"entrypoints: []\n5: x\n", `f.yaml:2:1: unknown key "5"; known here: entrypoints`},
		"key is a list":     {"entrypoints: []\n? [a]\n: x\n", "f.yaml:3:1: not valid YAML: found an invalid key for this map"},
		"text for list":     {"entrypoints: " + canary + "\n", "f.yaml:1:14: entrypoints: must be a list, not a text"},
		"list for mapping":  {"- a\n", "f.yaml:1:1: must be a mapping with the keys entrypoints, not a list"},
		"port in quotes":    {"entrypoints: [{name: a, backends: [{address: h, port: \"80\"}]}]", "f.yaml:1:55: entrypoints[0].backends[0].port: must be a whole number, not a text"},
		"fraction":          {"entrypoints: [{name: a, backends: [{address: h, port: 80.5}]}]", "f.yaml:1:55: entrypoints[0].backends[0].port: must be a whole number, not a number with a fraction"},
		"huge":              {"entrypoints: [{name: a, backends: [{address: h, port: 18446744073709551615}]}]", "f.yaml:1:55: entrypoints[0].backends[0].port: must be a whole number, not a number that is too large"},
		"yes":               {"entrypoints: [{name: a, config: {tls: yes}}]", "f.yaml:1:39: entrypoints[0].config.tls: must be true or false, not a text"},
		"number for name":   {"entrypoints: [{name: 5}]", "f.yaml:1:22: entrypoints[0].name: must be a text, not a whole number; put it in quotes"},
		"mapping for text":  {"entrypoints: [{name: {a: b}}]", "f.yaml:1:22: entrypoints[0].name: must be a text, not a mapping; put it in quotes"},
		"list for text":     {"entrypoints: [{name: [a]}]", "f.yaml:1:22: entrypoints[0].name: must be a text, not a list; put it in quotes"},
		"bool for text":     {"entrypoints: [{name: true}]", "f.yaml:1:22: entrypoints[0].name: must be a text, not true or false; put it in quotes"},
		"infinity":          {"entrypoints: [{config: {circuit_breaker: {threshold: .inf}}}]", "f.yaml:1:54: entrypoints[0].config.circuit_breaker.threshold: must be a number, not a number with a fraction"},
		"text for number":   {"entrypoints: [{config: {circuit_breaker: {threshold: " + canary + "}}}]", "f.yaml:1:54: entrypoints[0].config.circuit_breaker.threshold: must be a number, not a text"},
		"status":            {"entrypoints: [{config: {health_check: {status: [200]}}}]", "f.yaml:1:48: entrypoints[0].config.health_check.status: must be a number or a text, not a list"},
		"headers as list":   {"entrypoints: [{config: {health_check: {headers: [a]}}}]", "f.yaml:1:49: entrypoints[0].config.health_check.headers: must be a mapping of names to texts, not a list"},
		"header value":      {"entrypoints: [{config: {health_check: {headers: {Authorization: 5}}}}]", `f.yaml:1:65: entrypoints[0].config.health_check.headers."Authorization": must be a text, not a whole number; put it in quotes`},
		"empty entry":       {"entrypoints:\n  -\n  - name: a\n", "f.yaml:2:3: entrypoints[0]: the entry is empty"},
		"tag":               {"entrypoints: [{name: !!binary YQ==}]", "f.yaml:1:22: entrypoints[0].name: tags (!) are not used here; remove the tag"},
		"unknown alias":     {"entrypoints: *nope\n", "f.yaml:1:14: entrypoints: the alias names no anchor of this file"},
		"alias to itself":   {"entrypoints: &a [*a]\n", "f.yaml:1:17: entrypoints[0]: must be a mapping with the keys name, protocol, backends, config, not a list"},
		"key twice":         {"entrypoints: []\nentrypoints: []\n", `f.yaml:2:1: not valid YAML: mapping key "entrypoints" already defined at [1:1]`},
		"open quote":        {"entrypoints: \"" + canary + "\n", "f.yaml:1:14: not valid YAML: could not find end character of double-quoted text"},
		"tab":               {"entrypoints:\n\t- name: " + canary + "\n", `f.yaml:2:1: not valid YAML: found character '`},
		"open brace":        {"entrypoints: [{name: " + canary, "not valid YAML: "},
		"two documents":     {"entrypoints: []\n---\nentrypoints: []\n", "f.yaml:3:1: a second document begins here; put all entrypoints into one list"},
		"JSON":              {"{\n\t\"entrypoints\": [\n\t\t{\"nam\": \"a\"}\n\t]\n}", `entrypoints[0]: unknown key "nam"; did you mean "name"?`},
		"too large":         {strings.Repeat("#", maxFileBytes+1), "f.yaml: larger than 16 MiB; is this the right file?"},
	} {
		_, problems := decode([]byte(c.text))
		var lines []string
		for _, p := range problems {
			lines = append(lines, p.text("f.yaml"))
		}
		got := strings.Join(lines, "\n")
		if !strings.Contains(got, c.want) || len(problems) != 1 {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if strings.Contains(got, canary) {
			t.Errorf("%s: a value shows: %s", name, got)
		}
	}
}

// TestAllProblemsAtOnce: in the order of the file, and not too many.
func TestAllProblemsAtOnce(t *testing.T) {
	_, problems := decode([]byte("entrypoints:\n  - name: 1\n    confg: {}\n  - protcol: Http\n    backends: {}\n"))
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.at.line)
	}
	if want := []int{2, 3, 4, 5}; !reflect.DeepEqual(lines, want) {
		t.Errorf("lines %v, want %v: %v", lines, want, problems)
	}
	if _, problems = decode([]byte("entrypoints:\n" + strings.Repeat("  - nam: a\n", 100))); len(problems) != maxProblems {
		t.Errorf("%d problems", len(problems))
	}
}

// TestDecodedValues: what YAML offers, and JSON, mean the same.
func TestDecodedValues(t *testing.T) {
	const plain = `entrypoints:
  - name: a
    backends: [{address: h, port: 80}]
    config:
      hostnames: [a.example.com, b.example.com]
      tls: true
      error_pages: {"503": "later"}
      circuit_breaker: {threshold: 0.5, min_requests: 3}
      health_check: {path: /h, status: 200, headers: {A: b}}
`
	want, problems := decode([]byte(plain))
	if problems != nil {
		t.Fatal(problems)
	}
	for name, text := range map[string]string{
		"with a byte order mark": "\ufeff" + plain,
		"after ---":              "# made by a tool\n---\n" + plain,
		"JSON": `{"entrypoints":[{"name":"\u0061","backends":[{"address":"h","port":80}],"config":{"hostnames":["a.example.com","b.example.com"],
			"tls":true,"error_pages":{"503":"later"},"circuit_breaker":{"threshold":0.5,"min_requests":3},"health_check":{"path":"\/h","status":200,"headers":{"A":"b"}}}}]}`,
		"anchors": `entrypoints:
  - name: a
    backends: [&b {address: h, port: 80}]
    config: &c
      hostnames: &h [a.example.com, "b.example.com"]
      tls: true
      error_pages:
        503: |-
          later
      circuit_breaker: {threshold: 0.5, min_requests: 3}
      health_check: {path: /h, status: 200, headers: {A: b}}
`,
	} {
		got, problems := decode([]byte(text))
		if problems != nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		for i := range got.Entrypoints {
			got.Entrypoints[i].At = want.Entrypoints[i].At
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, dump(got), dump(want))
		}
	}
}

func dump(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// TestMerge: a merged mapping gives defaults, keys of its own win, null takes away.
func TestMerge(t *testing.T) {
	doc, problems := decode([]byte(`entrypoints:
  - name: a
    config: &base
      hostnames: [a.example.com]
      priority: 5
      retry: {attempts: 3}
  - name: b
    config:
      hostnames: [b.example.com]
      retry: null
      <<: *base
  - name: c
    config:
      <<: [{priority: 7}, *base]
`))
	if problems != nil {
		t.Fatal(problems)
	}
	b, c := doc.Entrypoints[1].Config, doc.Entrypoints[2].Config
	if b.Hostnames[0] != "b.example.com" || *b.Priority != 5 || b.Retry != nil {
		t.Errorf("b: %s", dump(b))
	}
	if c.Hostnames[0] != "a.example.com" || *c.Priority != 7 || c.Retry == nil {
		t.Errorf("c: %s", dump(c))
	}
}

// TestAliasBomb: aliases of aliases, and those that lead to themselves, end in a
// problem and not in memory.
func TestAliasBomb(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("entrypoints:\n  - name: a\n    config: &c0 {hostnames: [x]}\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "  - name: b%d\n    config: &c%d {<<: [*c%d, *c%d]}\n", i, i+1, i, i)
	}
	for name, text := range map[string]string{
		"doubling": bomb.String(),
		"itself":   "entrypoints: [{name: a, config: &c {<<: *c}}]",
		"list":     "entrypoints: [{name: a, config: &c {<<: [*c, *c]}}]",
		"pair":     "entrypoints: [&a {name: a, config: &c {<<: *d}}, {config: &d {<<: *c}}]",
	} {
		if _, problems := decode([]byte(text)); len(problems) != 1 || !strings.Contains(problems[0].message, "too large with its aliases") {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// FuzzFile: any text ends in a document or in problems, twice in the same ones, and
// what is routed keeps the promises of a snapshot.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("entrypoints: &a [*a]"))
	f.Add([]byte("entrypoints: [{<<: &x {<<: *x}}]"))
	f.Add([]byte("? [a]\n: {b"))
	f.Add([]byte("{\"entrypoints\": [{\"name\": \"a\", \"config\": {\"hostnames\": [\"*\"]}}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, problems := decode(text)
		again, problemsAgain := decode(text)
		if !reflect.DeepEqual(problems, problemsAgain) || !reflect.DeepEqual(doc, again) {
			t.Fatal("two readings differ")
		}
		if problems != nil {
			for _, p := range problems {
				if p.text("f") == "" || p.message == "" {
					t.Fatal("a problem without words")
				}
			}
			return
		}
		out, problems := build(testLabels, &doc)
		if problems == nil {
			checkContents(t, &out)
		}
	})
}
