package label

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testConfig declares one of everything that labels may refer to.
func testConfig() Config {
	return Config{
		Listeners: map[route.Protocol][]string{route.TCP: {"postgres"}, route.UDP: {"dns"}},
		CAs:       []string{"internal"}, ClientCerts: []string{"edge"},
	}
}

// parseLabels parses labels of a container that is always the same.
func parseLabels(t testing.TB, labels map[string]string) Parsed {
	t.Helper()
	return Parse(testConfig(), Candidate{
		ID: "c0ffee0123456789", Name: "proj-web-1", Provider: "docker", Project: "proj", Service: "web",
		OneOff: labels["com.docker.compose.oneoff"] == "True", Labels: labels,
	})
}

func readLabels(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	vars := strings.NewReplacer("${CONTROL}", "a\x00b\x1b[2J\u202e\xff", "${HUGE}", strings.Repeat("9", 100_000))
	labels := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if key, value, ok := strings.Cut(line, "="); ok && line[0] != '#' {
			labels[vars.Replace(key)] = vars.Replace(value)
		}
	}
	return labels
}

// verdict is what a golden file shows of a declaration.
type verdict struct {
	ID         string            `json:"id"`
	Refused    string            `json:"refused,omitempty"`
	FailClosed *route.FailClosed `json:"fail_closed,omitempty"`
}

func goldenOf(t *testing.T, p Parsed) []byte {
	t.Helper()
	var verdicts []verdict
	for _, d := range p.Declarations {
		verdicts = append(verdicts, verdict{string(d.Protocol) + "_" + d.Service, d.Refused, d.FailClosed})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Declarations []verdict          `json:"declarations"`
		Rejected     *route.Rejected    `json:"rejected,omitempty"`
		Diagnostics  []route.Diagnostic `json:"diagnostics"`
	}{verdicts, p.Rejected, p.Diagnostics})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update to accept):\n%s", path, got)
	}
}

// TestGoldenDiagnostics shows every diagnostic in full, and that a file which is
// named after codes has them.
func TestGoldenDiagnostics(t *testing.T) {
	files, err := filepath.Glob("testdata/diagnostics/*.labels")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	emitted := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".labels")
		p := parseLabels(t, readLabels(t, file))
		compareGolden(t, strings.TrimSuffix(file, ".labels")+".json", goldenOf(t, p))
		here := map[string]bool{}
		for _, d := range p.Diagnostics {
			emitted[d.Code], here[d.Code] = true, true
			checkDiagnostic(t, name, d)
		}
		if p.Rejected != nil {
			emitted[p.Rejected.Code], here[p.Rejected.Code] = true, true
		}
		for code := range strings.SplitSeq(name, "_") {
			if codePattern.MatchString(`"`+code+`"`) && !here[code] {
				t.Errorf("%s: no %s among the diagnostics", name, code)
			}
		}
	}
	for _, e := range Explanations() {
		if !emitted[e.Code] && !slices.Contains(emittedElsewhere, e.Code) {
			t.Errorf("no golden file shows %s", e.Code)
		}
	}
}

// emittedElsewhere are the codes that Parse never gives: those of Group (I105,
// W111), of the providers, of the router's table, of probing, and of features to come.
var emittedElsewhere = []string{"E003", "E105", "E106", "E107", "E108", "E111", "E114", "I105", "I108", "W010", "W015", "W018", "W111", "W131", "W132", "W133", "W134", "W135", "W136", "I110", "I112"}

// checkDiagnostic holds what is true of every diagnostic: it names its label and a
// fix, and nothing in it is unprintable or endless.
func checkDiagnostic(t *testing.T, where string, d route.Diagnostic) {
	t.Helper()
	if d.Label == "" || d.Message == "" || d.Hint == "" || d.Severity != route.SeverityOf(d.Code) {
		t.Errorf("%s: incomplete diagnostic %+v", where, d)
	}
	if _, ok := Explain(d.Code); !ok {
		t.Errorf("%s: code %s is not explained", where, d.Code)
	}
	for _, s := range []string{d.Label, d.Value, d.Message, d.Hint} {
		if len(s) > 2100 || strings.ContainsFunc(s, unprintable) {
			t.Errorf("%s: not fit to be shown: %q", where, s)
		}
	}
}
