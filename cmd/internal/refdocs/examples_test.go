package refdocs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"fairlead/provider/file"
	"fairlead/provider/label"
	"fairlead/router/route"
)

// TestTheFileExampleIsValid reads the example of the file reference as the program would.
func TestTheFileExampleIsValid(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/file.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no example in the page")
	}
	path := filepath.Join(t.TempDir(), "entrypoints.yaml")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := file.New(file.Config{Path: path, Label: label.Config{Prefix: "sozune"}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Collect(t.Context())
	if err != nil || len(s.Entrypoints) != 1 || len(s.Entrypoints[0].Backends) != 3 {
		t.Fatalf("%v %+v", err, s)
	}
	for _, c := range s.Candidates {
		for _, d := range c.Diagnostics {
			if d.Severity != route.SeverityInfo {
				t.Errorf("the example gives %+v", d)
			}
		}
	}
}

// TestLabelExamplesAreValid parses every label line of the README, the compose file and the how-tos.
func TestLabelExamplesAreValid(t *testing.T) {
	for _, path := range []string{"README.md", "docker-compose.yml"} {
		text, err := os.ReadFile(filepath.Join("../../..", path))
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]string{}
		for line := range strings.Lines(string(text)) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if ok && strings.HasPrefix(key, "sozune.") {
				labels[key] = strings.Trim(value, `"`)
			}
		}
		if len(labels) < 2 {
			t.Errorf("%s: only %d labels found", path, len(labels))
		}
		parsed := label.Parse(label.Config{Prefix: "sozune"}, label.Candidate{ID: path, Name: path, Provider: "docker", Labels: labels})
		for _, d := range parsed.Diagnostics {
			if d.Severity != route.SeverityInfo {
				t.Errorf("%s: %+v", path, d)
			}
		}
		if len(parsed.Declarations) == 0 {
			t.Errorf("%s declares nothing", path)
		}
	}
}
