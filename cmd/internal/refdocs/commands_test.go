package refdocs

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead/cmd/internal/cli"
	"fairlead/cmd/internal/config"
)

// documented is a command line in a page or a comment, and where it is.
type documented struct{ where, line string }

var (
	// program is how a command line begins.
	program = regexp.MustCompile(`^(\$ |- |run: )*(sudo )?(docker|docker-compose|podman|fairlead|bin/fairlead|make|curl|systemctl|export|for|sysctl)( |$)`)
	// inline is a command in the middle of a sentence.
	inline = regexp.MustCompile("`(fairlead [^`]+)`")
	// ours is an invocation of the program within a line.
	ours = regexp.MustCompile(`(?m)(?:^|[ /])fairlead(?::\w+)? ((?:[a-z]|--)[^|&;#\n>]*)`)
)

// documentedCommands are all of them: indented or fenced lines of pages, comments of
// examples and of the unit.
func documentedCommands(t *testing.T) []documented {
	t.Helper()
	var list []documented
	add := func(where, line string) {
		line, _, _ = strings.Cut(line, "  # ")
		line = strings.TrimSpace(line)
		if program.MatchString(line) {
			list = append(list, documented{where, strings.TrimLeft(strings.TrimPrefix(line, "run: "), "$- ")})
		}
	}
	for _, page := range pages(t) {
		text, inFence := read(t, page), false
		for _, script := range fenced(text, "sh") { // whole: its lines need not be commands by themselves
			list = append(list, documented{page, script})
			text = strings.Replace(text, script, "", 1)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inFence = !inFence
				continue
			}
			if inFence || strings.HasPrefix(line, "    ") {
				// Remarks of the README follow a command after several blanks.
				add(page, strings.Split(strings.TrimSpace(line), "   ")[0])
			}
		}
		for _, m := range inline.FindAllStringSubmatch(text, -1) {
			list = append(list, documented{page, m[1]})
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "deploy/examples/*/compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, filepath.Join(root, "deploy/systemd/fairlead.service")) {
		name := strings.TrimPrefix(path, root+"/")
		for line := range strings.Lines(read(t, name)) {
			if rest, ok := strings.CutPrefix(line, "#   "); ok {
				add(name, rest)
			}
		}
	}
	return list
}

// TestDocumentedCommandsParse: each line is one for a shell, and the program knows the
// commands and flags that it is given.
func TestDocumentedCommandsParse(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	list := documentedCommands(t)
	asked := 0
	for _, c := range list {
		if out, err := exec.CommandContext(t.Context(), shell, "-n", "-c", placeholders.Replace(c.line)).CombinedOutput(); err != nil {
			t.Errorf("%s: %s is no command line: %v %s", c.where, c.line, err, out)
		}
		if strings.HasPrefix(c.line, "docker build") || strings.HasPrefix(c.line, "podman build") {
			continue
		}
		for _, m := range ours.FindAllStringSubmatch(c.line, -1) {
			if words := strings.Fields(m[1]); words[0] != "whoami" {
				asked++
				known(t, c.where, words)
			}
		}
	}
	if len(list) < 40 || asked < 20 {
		t.Errorf("only %d commands, %d of them ours", len(list), asked)
	}
}

// known asks the program for help about a command with its flags.
func known(t *testing.T, where string, words []string) {
	t.Helper()
	var out bytes.Buffer
	code := cli.Main(t.Context(), append(slices.Clone(words), "--help"), cli.Streams{In: &out, Out: &out, Err: &out})
	// Asked for help about a word that it does not know, the program helps in general.
	about := regexp.MustCompile(`fairlead ` + regexp.QuoteMeta(words[0]) + `( |\n)`)
	if code != 0 || !strings.HasPrefix(words[0], "-") && !about.MatchString(out.String()) {
		t.Errorf("%s: fairlead %s: exit %d\n%s", where, strings.Join(words, " "), code, out.String())
	}
}

// placeholders are what people replace, in the grammar of pages.
var placeholders = strings.NewReplacer("[ID]", "ID", "CODE|ID", "CODE")

// TestDocumentedSettingsExist: the environment variables of the examples, the pages and
// the unit are the program's.
func TestDocumentedSettingsExist(t *testing.T) {
	known := map[string]bool{
		"FAIRLEAD_ADMIN": true, "FAIRLEAD_USER": true, "FAIRLEAD_PASSWORD": true, "FAIRLEAD_CONTAINER_ID": true,
		// Of the compose files, the makefile and the tests.
		"FAIRLEAD_HTTP_PORT": true, "FAIRLEAD_ADMIN_PORT": true, "FAIRLEAD_REQUIRE_DOCKER": true, "FAIRLEAD_REQUIRE_PODMAN": true, "FAIRLEAD_E2E": true,
	}
	for _, k := range config.Keys() {
		known[k.Env] = true
	}
	variable := regexp.MustCompile(`FAIRLEAD_[A-Z_]*[A-Z]\b`)
	files := pages(t)
	for _, pattern := range []string{"deploy/examples/*/compose.yaml", "docker-compose.yml", "deploy/systemd/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v %v", pattern, found, err)
		}
		for _, path := range found {
			files = append(files, strings.TrimPrefix(path, root+"/"))
		}
	}
	for _, file := range files {
		for _, name := range variable.FindAllString(read(t, file), -1) {
			if !known[name] {
				t.Errorf("%s names %s, which is no setting", file, name)
			}
		}
	}
}

// TestDocumentedJSONIsValid reads the blocks that people copy into files.
func TestDocumentedJSONIsValid(t *testing.T) {
	for _, page := range pages(t) {
		for _, block := range fenced(read(t, page), "json") {
			if !json.Valid([]byte(block)) {
				t.Errorf("%s: %s is not JSON", page, block)
			}
		}
	}
}

// TestUnitStartsTheProgram: the flags of ExecStart are known, and systemd, where it is
// there, takes the file as it is.
func TestUnitStartsTheProgram(t *testing.T) {
	unit := unitFile(t)
	start := unit["ExecStart"]
	if len(start) != 1 || !strings.HasPrefix(start[0], "/usr/local/bin/fairlead serve") {
		t.Fatalf("ExecStart is %v", start)
	}
	var out bytes.Buffer
	if code := cli.Main(t.Context(), append(strings.Fields(start[0])[1:], "--help"), cli.Streams{In: &out, Out: &out, Err: &out}); code != 0 {
		t.Errorf("%s: %s", start[0], out.String())
	}
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("no systemd-analyze here: the unit was only read")
		return
	}
	said, _ := exec.CommandContext(t.Context(), tool, "verify", filepath.Join(root, "deploy/systemd/fairlead.service")).CombinedOutput()
	for line := range strings.Lines(string(said)) {
		// The program is not installed where the tests run.
		if strings.Contains(line, "fairlead.service:") && !strings.Contains(line, "is not executable") {
			t.Errorf("systemd-analyze: %s", line)
		}
	}
}

// TestCompletion: every shell that the page names gets a script, and it completes.
func TestCompletion(t *testing.T) {
	page := read(t, "docs/howto/shell-completion.md")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out bytes.Buffer
		code := cli.Main(t.Context(), []string{"completion", shell}, cli.Streams{In: &out, Out: &out, Err: &out})
		if code != 0 || !strings.Contains(out.String(), "fairlead") || !strings.Contains(page, "fairlead completion "+shell) {
			t.Errorf("%s: exit %d, %d bytes", shell, code, out.Len())
		}
	}
	var out bytes.Buffer
	if cli.Main(t.Context(), []string{"__complete", "route", "res"}, cli.Streams{In: &out, Out: &out, Err: &out}); !strings.Contains(out.String(), "resolve\t") {
		t.Errorf("route res is completed to %s", out.String())
	}
}
