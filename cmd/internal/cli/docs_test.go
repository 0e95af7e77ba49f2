package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shown are the command lines of the program in a text: those of shells and of units.
func shown(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"ExecStart=", "ExecStartPost="} {
			line = strings.TrimPrefix(line, prefix)
		}
		line, _, _ = strings.Cut(line, "  # ")
		for _, program := range []string{"/usr/local/bin/fairlead ", " /fairlead "} {
			if _, rest, found := strings.Cut(" "+line, program); found {
				lines = append(lines, rest)
			}
		}
		if rest, found := strings.CutPrefix(line, "fairlead "); found {
			lines = append(lines, rest)
		}
	}
	return lines
}

// TestCommandsOfTheUpgradeAreOurs: the units and the page about upgrades call commands
// and flags that exist.
func TestCommandsOfTheUpgradeAreOurs(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/systemd/*.service")
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range append(files, "../../../docs/howto/upgrade-fairlead.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := shown(string(text))
		if len(lines) == 0 {
			t.Errorf("%s shows no command", file)
		}
		for _, line := range lines {
			root := (&program{}).root()
			cmd, rest, err := root.Find(strings.Fields(line))
			if err == nil && cmd == root {
				t.Errorf("%s: no command in %q", file, line)
				continue
			}
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s: %q: %v", file, line, err)
			}
		}
	}
}
