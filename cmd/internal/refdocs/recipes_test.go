package refdocs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead/healthcheck"
	"fairlead/provider/compose"
	"fairlead/provider/label"
	"fairlead/router/route"
)

// recipe is a compose file of a how-to page, as the program reads it.
type recipe struct {
	where    string
	block    string
	snapshot route.Snapshot
}

// recipes are the compose files of the how-to pages but for those that show mistakes.
func recipes(t *testing.T) (list []recipe) {
	t.Helper()
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, "docs/howto/") || page == "docs/howto/check-in-ci.md" {
			continue
		}
		for i, block := range fenced(read(t, page), "yaml") {
			if !strings.Contains(block, "services:") {
				continue
			}
			list = append(list, recipe{fmt.Sprint(page, "#", i), block, composed(t, block)})
		}
	}
	return list
}

// pageLabels is how labels are read, with the names that the pages configure.
func pageLabels() label.Config {
	return label.Config{Prefix: "sozune", CAs: []string{"internal"}, ClientCerts: []string{"edge"}}
}

// composed is what the program makes of a compose file.
func composed(t *testing.T, file string) route.Snapshot {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := compose.New(compose.Config{Projects: [][]string{{path}}, Label: pageLabels()}).Collect(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return s
}

// TestRecipesAreWithoutFindings: no label of a recipe is misspelt, has a bad value, or
// has no effect.
func TestRecipesAreWithoutFindings(t *testing.T) {
	for _, r := range recipes(t) {
		for _, c := range r.snapshot.Candidates {
			for _, d := range c.Diagnostics {
				if d.Code == "I001" || d.Code == "I002" { // no path, no port: the usual case
					continue
				}
				t.Errorf("%s: %s %s %s", r.where, d.Code, d.Label, d.Message)
			}
		}
	}
}

// TestRecipesHoldTheirBounds: "noticed within" is what the health engine publishes for
// the recipe's check.
func TestRecipesHoldTheirBounds(t *testing.T) {
	promise := regexp.MustCompile(`# noticed within (\S+)`)
	found := 0
	for _, r := range recipes(t) {
		m := promise.FindStringSubmatch(r.block)
		if m == nil {
			continue
		}
		found++
		if len(r.snapshot.Entrypoints) != 1 {
			t.Fatalf("%s: %+v", r.where, r.snapshot.Entrypoints)
		}
		if got := bound(r.snapshot.Entrypoints[0]); got != duration(t, m[1]) {
			t.Errorf("%s: the page says %s, the engine %v", r.where, m[1], got)
		}
	}
	if found < 8 {
		t.Errorf("only %d recipes say how soon a fault is noticed", found)
	}
}

// bound is the longest time to the verdict that an engine publishes for an entrypoint.
func bound(e *route.Entrypoint) time.Duration {
	engine := healthcheck.New(healthcheck.Config{})
	engine.Apply(1, []route.PlacementSet{{Entrypoint: e, Cell: &route.RotationCell{}, Placements: []*route.Placement{
		{Entrypoint: e.ID, Backend: e.Backends[0], Load: &route.Load{}},
	}}})
	return engine.View().Entrypoints[e.ID].DetectionBound
}

// TestDefaultBound: what the explanation says about a check without labels.
func TestDefaultBound(t *testing.T) {
	s := composed(t, "services: {a: {image: a, labels: {sozune.enable: \"true\", sozune.http.a.host: a.localhost, sozune.http.a.port: \"80\"}}}")
	said := regexp.MustCompile(`With the defaults it is (\d+) s`).FindStringSubmatch(read(t, "docs/explanation/health.md"))
	if said == nil || len(s.Entrypoints) != 1 || bound(s.Entrypoints[0]) != duration(t, said[1]+"s") {
		t.Errorf("the page says %v, the engine %v", said, s.Entrypoints)
	}
}
