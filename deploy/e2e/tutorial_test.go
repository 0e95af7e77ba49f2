package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead/deploy/console"
)

// composeOf writes the compose file of a page into a directory of its own, with a port
// that is free here.
func composeOf(t *testing.T, name, text string) *example {
	t.Helper()
	_, rest, _ := strings.Cut(text, "```yaml\n")
	file, _, found := strings.Cut(rest, "\n```")
	if !found || !strings.Contains(file, "services:") {
		t.Fatalf("the page of %s has no compose file", name)
	}
	dir := t.TempDir()
	file = strings.Replace(file, "8080:80", "${FAIRLEAD_HTTP_PORT:-8080}:80", 1)
	if err := os.WriteFile(filepath.Join(dir, "compose.yaml"), []byte(file+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return exampleIn(t, dir, name, nil)
}

func pageOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTutorialWithDocker follows the second half of the tutorial literally, and sees what
// it shows. cmd/internal/refdocs follows the first half.
func TestTutorialWithDocker(t *testing.T) {
	ship(t)
	_, half, found := strings.Cut(pageOf(t, "docs/tutorial/first-route.md"), "\n## With Docker\n")
	steps := console.Steps(half)
	if !found || len(steps) < 8 {
		t.Fatalf("the tutorial has the steps %+v", steps)
	}
	e := composeOf(t, "tutorial", half)
	for _, step := range steps {
		if len(step.Want) == 0 {
			e.must(step.Line)
			continue
		}
		e.eventually(40*time.Second, step.Line, func() error {
			out, _ := e.run(step.Line)
			return step.Check(out)
		})
	}
	if left := e.docker("ps", "-aq", "--filter", "label=com.docker.compose.project="+e.project()); left != "" {
		t.Errorf("the tutorial leaves containers behind: %s", left)
	}
}

// TestReadmeWithDocker starts the compose file of the README and runs the commands below it.
func TestReadmeWithDocker(t *testing.T) {
	ship(t)
	_, section, _ := strings.Cut(pageOf(t, "README.md"), "\n## The smallest compose file\n")
	section, _, _ = strings.Cut(section, "\n## ")
	list := commands(section, "    ")
	if len(list) != 2 {
		t.Fatalf("the README has the commands %v", list)
	}
	e := composeOf(t, "readme", section)
	e.must("docker compose up -d")
	e.waitFor("hello.localhost", 200, "Host: hello.localhost")
	e.follow(list)
}
