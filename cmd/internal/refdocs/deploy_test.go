package refdocs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"fairlead/cmd/internal/config"
	"fairlead/deploy/console"
	"fairlead/provider/label"
	"fairlead/router/route"
)

const root = "../../.."

// composeFile is what these tests read of one.
type composeFile struct {
	Services map[string]struct {
		Image       string         `yaml:"image"`
		Labels      map[string]any `yaml:"labels"`
		GracePeriod string         `yaml:"stop_grace_period"`
		NetworkMode string         `yaml:"network_mode"`
	} `yaml:"services"`
}

// preset is a variable of a compose file with its default.
var preset = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)

// composeFiles are the repository's, and those in the pages, by a name.
func composeFiles(t *testing.T) map[string]composeFile {
	t.Helper()
	texts := map[string]string{"docker-compose.yml": read(t, "docker-compose.yml")}
	examples, err := filepath.Glob(filepath.Join(root, "deploy/examples/*/*"))
	if err != nil || len(examples) < 7 {
		t.Fatalf("%v: examples are %v", err, examples)
	}
	for _, path := range examples {
		texts[path] = read(t, strings.TrimPrefix(path, root+"/"))
	}
	for _, page := range pages(t) {
		for i, block := range fenced(read(t, page), "yaml") {
			if strings.Contains(block, "services:") && !strings.Contains(block, ": three mistakes\n") {
				texts[fmt.Sprint(page, "#", i)] = block
			}
		}
	}
	files := map[string]composeFile{}
	for name, text := range texts {
		var file composeFile
		if err := yaml.Unmarshal([]byte(preset.ReplaceAllString(text, "$1")), &file); err != nil || len(file.Services) == 0 {
			t.Errorf("%s: %v, services %v", name, err, file.Services)
		}
		files[name] = file
	}
	return files
}

// pages are the pages for people, from the root.
func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"README.md", "deploy/examples/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/tutorial/*.md", "docs/howto/*.md", "docs/explanation/*.md", "docs/reference/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v %v", pattern, found, err)
		}
		for _, path := range found {
			list = append(list, strings.TrimPrefix(path, root+"/"))
		}
	}
	return list
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fenced are the blocks of a page that are marked with a language.
func fenced(text, language string) []string { return console.Blocks(text, language) }

// TestComposeLabelsAreValid judges every service of every compose file as a router would.
func TestComposeLabelsAreValid(t *testing.T) {
	for name, file := range composeFiles(t) {
		for service, s := range file.Services {
			labels := map[string]string{}
			for key, value := range s.Labels {
				labels[key] = fmt.Sprint(value)
			}
			if len(labels) == 0 {
				continue
			}
			parsed := label.Parse(pageLabels(), label.Candidate{ID: service, Name: service, Provider: "docker", Labels: labels})
			for _, d := range parsed.Diagnostics {
				if d.Severity != route.SeverityInfo {
					t.Errorf("%s, %s: %+v", name, service, d)
				}
			}
			if !parsed.Enabled || len(parsed.Declarations) == 0 {
				t.Errorf("%s, %s has labels and declares nothing", name, service)
			}
			for _, d := range parsed.Declarations {
				if s.NetworkMode == "host" && labels["sozune.http."+d.Service+".port"] == "" {
					t.Errorf("%s, %s is on the host's network without a port", name, service)
				}
			}
		}
	}
}

// TestGracePeriodsCoverTheirDrains: what is promised to requests in flight must fit into
// the time that the engine gives, for the router and for apps.
func TestGracePeriodsCoverTheirDrains(t *testing.T) {
	defaults := config.Default()
	stop := defaults.ShutdownDelay + defaults.ShutdownTimeout
	checked := 0
	for name, file := range composeFiles(t) {
		for service, s := range file.Services {
			if s.GracePeriod == "" {
				continue
			}
			grace := duration(t, s.GracePeriod)
			if service == "router" && grace <= stop {
				t.Errorf("%s: the router is killed after %v and needs %v", name, grace, stop)
			}
			for key, value := range s.Labels {
				if strings.HasSuffix(key, ".drain.timeout") && duration(t, fmt.Sprint(value)) > grace {
					t.Errorf("%s, %s: %s=%v is longer than stop_grace_period %v", name, service, key, value, grace)
				}
			}
			checked++
		}
	}
	if checked < 3 {
		t.Errorf("only %d grace periods were found", checked)
	}
	if compose := composeFiles(t)["docker-compose.yml"].Services["router"].GracePeriod; compose != "35s" {
		t.Errorf("docker-compose.yml gives the router %q, the manual says 35s", compose)
	}
	if unit := unitFile(t)["TimeoutStopSec"]; !slices.Equal(unit, []string{"30"}) || 30*time.Second <= stop {
		t.Errorf("the systemd unit gives %v, the manual says 30; needed is %v", unit, stop)
	}
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// unitFile reads the systemd unit: key -> values.
func unitFile(t *testing.T) map[string][]string {
	t.Helper()
	unit := map[string][]string{}
	for line := range strings.Lines(read(t, "deploy/systemd/fairlead.service")) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			unit[key] = append(unit[key], value)
		}
	}
	return unit
}
