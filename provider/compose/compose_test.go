package compose

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/provider/label"
	"fairlead/router"
	"fairlead/router/route"
)

var update = flag.Bool("update", false, "write the golden file anew")

func read(t *testing.T, env []string, projects ...[]string) route.Snapshot {
	t.Helper()
	for _, files := range projects {
		for i := range files {
			files[i] = filepath.Join("testdata", files[i])
		}
	}
	s, err := New(Config{Projects: projects, Env: env, Label: label.Config{Prefix: "sozune"}}).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// told lists everything that is said of a snapshot, a line each.
func told(s route.Snapshot) []string {
	v := router.Offline(s)
	var out []string
	add := func(about string, list []route.Diagnostic) {
		for _, d := range list {
			if line := fmt.Sprintf("%s: %s %s: %s -> %s", about, d.Code, d.Label, d.Message, d.Hint); !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	for i := range v.Entrypoints {
		e := v.Entrypoints[i].Entrypoint
		line := "routed " + e.ID
		for j := range e.Backends {
			line += " " + e.Backends[j].Name + "=" + e.Backends[j].Address()
		}
		out = append(out, line)
	}
	add("all", v.Global)
	for _, c := range v.Candidates {
		add(c.CandidateID, c.Diagnostics)
	}
	for i := range v.Entrypoints {
		add(v.Entrypoints[i].Entrypoint.ID, v.Entrypoints[i].Diagnostics)
	}
	for _, r := range v.Rejected {
		out = append(out, fmt.Sprintf("rejected %s: %s %s -> %s", r.Name, r.Code, r.Reason, r.Hint))
	}
	return out
}

// TestStacks judges compose files written after real-world stacks: the first ones are
// right, the others have planted mistakes. The golden file says what is told of each.
func TestStacks(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d stacks: %v", len(files), err)
	}
	var b strings.Builder
	for _, f := range files {
		name := filepath.Base(f)
		if name == "override.yaml" {
			continue
		}
		fmt.Fprintf(&b, "# %s\n%s\n\n", name, strings.Join(told(read(t, nil, []string{name})), "\n"))
	}
	fmt.Fprintf(&b, "# two projects\n%s\n\n", strings.Join(told(read(t, nil, []string{"two-projects-a.yaml"}, []string{"two-projects-b.yaml"})), "\n"))
	fmt.Fprintf(&b, "# wiki.yaml and override.yaml\n%s\n\n", strings.Join(told(read(t, nil, []string{"wiki.yaml", "override.yaml"})), "\n"))
	const golden = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-update writes it):\n%s", diff)
	}
}

// TestRightStacksAreSilent, and every planted mistake is found by its code.
func TestRightStacksAreSilent(t *testing.T) {
	for name, codes := range map[string]string{
		"auth-portal": "", "wiki": "", "photo-library": "", "git-forge": "", "scaled-api": "", "home-automation": "",
		"files-and-vpn": "", "profiles": "",
		"monitoring":       "E113", // ipAllowList is not in this version: the route is closed, not open
		"forgotten-enable": "E001", "typos": "E002 E104 W013 W013", "mail": "E108", "wrong-network": "W009", "no-shared-network": "E105",
		"host-network-without-port": "E106", "deploy-labels": "W132", "unset-variable": "E002 W133",
		"same-route-twice": "W018 W018", "eaten-dollar": "E104 W007 W133", "bad-values": "E109 W001 W012 W021 W027",
	} {
		s := read(t, nil, []string{name + ".yaml"})
		var got []string
		v := router.Offline(s)
		seen := map[route.Diagnostic]bool{}
		note := func(list []route.Diagnostic) {
			for _, d := range list {
				if d.Severity != route.SeverityInfo && !seen[d] {
					seen[d] = true
					got = append(got, d.Code)
				}
			}
		}
		note(v.Global)
		for _, c := range v.Candidates {
			note(c.Diagnostics)
		}
		for i := range v.Entrypoints {
			note(v.Entrypoints[i].Diagnostics)
		}
		for _, r := range v.Rejected {
			if r.Code != "" && !slices.Contains(got, r.Code) {
				got = append(got, r.Code)
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != codes {
			t.Errorf("%s: found %q, want %q", name, text, codes)
		}
	}
}

// TestVariables come from the environment; what is not set is said once.
func TestVariables(t *testing.T) {
	s := read(t, []string{"APP_HOST=app.example.com"}, []string{"unset-variable.yaml"})
	if len(s.Global) != 0 || len(s.Entrypoints) != 1 || s.Entrypoints[0].Match.Hosts[0].String() != "app.example.com" {
		t.Errorf("%+v", told(s))
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, err := New(Config{Projects: [][]string{{filepath.Join(folder, "none.yaml")}}}).Collect(t.Context())
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for name, text := range map[string]string{
		"yaml": "services: [", "shape": "services:\n  app: 7\n", "unknown": "services:\n  app:\n    imgae: x\n",
		"required": "services:\n  app:\n    image: ${IMAGE:?say which}\n",
	} {
		_, err := New(Config{Projects: [][]string{{write(name+".yaml", text)}}, Label: label.Config{Prefix: "sozune"}}).Collect(t.Context())
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), name+".yaml") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIsCompose(t *testing.T) {
	for text, want := range map[string]bool{
		"services: {a: {image: b}}": true, "include: [a.yaml]": true, "name: x\nservices:\n  a: {}": true,
		"entrypoints: []": false, "entrypoints: []\nservices: {}": false, "": false, "x: [": false, "7": false,
		"services: [": true, "services:\n  a: {labels: *nope}": true, "services:": true, "entrypoints: [\nservices: x": false,
	} {
		if got := IsCompose([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
