package label

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"fairlead/router/route"
)

// reference is the list of codes of the label reference.
const reference = `
	E001 E002 E003 E004 E005 E006 E104 E105 E106 E107 E108 E109 E110 E111 E112 E113
	W001 W002 W003 W004 W005 W006 W007 W008 W009 W010 W011 W012 W013 W014 W015 W016 W017 W018 W019 W020
	W021 W022 W023 W024 W025 W026 W027 W101 W102 W103 W109 W110 W111 W128 W129 W130
	I001 I002 I103 I104 I105 I106 I107 I108 I109`

// beyond are codes that belong to no label: the reference does not list them.
const beyond = "E114 I110 I111 I112 W131 W132 W133 W134 W135 W136"

var codePattern = regexp.MustCompile(`"[EWI]\d{3}"`)

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func TestEveryCodeIsExplained(t *testing.T) {
	want := strings.Fields(reference + " " + beyond)
	slices.Sort(want)
	var got []string
	for _, e := range Explanations() {
		got = append(got, e.Code)
		if again, ok := Explain(strings.ToLower(e.Code)); !ok || again != e {
			t.Errorf("Explain(%s) gives %+v, %v", e.Code, again, ok)
		}
		if e.Severity != route.SeverityOf(e.Code) {
			t.Errorf("%s has severity %s", e.Code, e.Severity)
		}
		for _, text := range []string{e.Title, e.Cause, e.Effect, e.Fix, e.Example} {
			if text == "" || text != strings.TrimSpace(text) {
				t.Errorf("%s: text %q", e.Code, text)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("explained are\n%v, the reference has\n%v", got, want)
	}
	if e, ok := Explain("E999"); ok {
		t.Errorf("an unknown code is explained: %+v", e)
	}
}

// TestEveryCodeInTheSourceIsExplained finds codes that some package gives out and
// nobody explains.
func TestEveryCodeInTheSourceIsExplained(t *testing.T) {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, code := range codePattern.FindAllString(string(source), -1) {
			found++
			if _, ok := Explain(strings.Trim(code, `"`)); !ok {
				t.Errorf("%s gives out %s, which is not explained", path, code)
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Fatal(found, err)
	}
}

func TestKeysAreComplete(t *testing.T) {
	seen := map[scopedName]bool{}
	for _, k := range Keys() {
		if k.Name == "" || k.Kind == "" || k.Accepts == "" || k.Meaning == "" || k.Available == "" || k.Level == "" {
			t.Errorf("incomplete key %+v", k)
		}
		if _, ok := Explain(k.BadValue); k.BadValue != "" && !ok {
			t.Errorf("%s: code %s is not explained", k.Name, k.BadValue)
		}
		if k.BadValue == "" && k.Kind != KindList {
			t.Errorf("%s: no code for a bad value", k.Name)
		}
		if k.Default != "" && k.values.problem(k.Default) != nil && k.Default != "off" {
			t.Errorf("%s: its own default %q is refused: %v", k.Name, k.Default, k.values.problem(k.Default))
		}
		for _, p := range append(slices.Clone(k.Protocols), "") {
			if p == "" && len(k.Protocols) > 0 {
				continue
			}
			if n := (scopedName{p, fold(k.Name)}); seen[n] {
				t.Errorf("%s is there twice for %q", k.Name, p)
			} else {
				seen[n] = true
			}
		}
	}
	for _, name := range []string{"weight", "backup", "port", "scheme", "dialTimeout", "dockerHealth", "healthCheck.port", "backendTLS.ca", "slowStart"} {
		if k := catalog.must(route.HTTP, name); k.Level != LevelBackend {
			t.Errorf("%s is %s, want it per backend", name, k.Level)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a key that is not in the catalog is found")
		}
	}()
	catalog.must(route.HTTP, "nonsense")
}

var exampleLabel = regexp.MustCompile(`sozune\.[^ ,]*=[^ ]*`)

// TestExamplesShowTheirCode parses the labels of every explanation: the mistake
// brings the code about, the correction does not.
func TestExamplesShowTheirCode(t *testing.T) {
	shown := 0
	for _, e := range Explanations() {
		mistake, fix, _ := strings.Cut(e.Example, " -> ")
		labels := exampleLabel.FindAllString(mistake, -1)
		if len(labels) == 0 || slices.Contains(emittedElsewhere, e.Code) || e.Code == "W009" { // takes an engine
			continue
		}
		shown++
		if got := codesOfExample(t, e.Code, labels); !slices.Contains(got, e.Code) {
			t.Errorf("%s: %q gives %v", e.Code, mistake, got)
		}
		if corrected := exampleLabel.FindAllString(fix, -1); len(corrected) > 0 && e.Severity != route.SeverityInfo {
			if strings.HasPrefix(fix, "add ") {
				corrected = append(corrected, labels...)
			}
			if got := codesOfExample(t, e.Code, corrected); slices.Contains(got, e.Code) {
				t.Errorf("%s: the correction %q still gives it", e.Code, fix)
			}
		}
	}
	if shown < 35 {
		t.Errorf("only %d examples have labels", shown)
	}
}

// codesOfExample adds what an example leaves out: enable and a host, except where
// they are what it is about.
func codesOfExample(t *testing.T, code string, list []string) []string {
	t.Helper()
	labels := map[string]string{}
	if code != "E001" {
		labels["sozune.enable"] = "true"
	}
	if code != "E002" {
		labels["sozune.http.web.host"] = "app.example.com"
	}
	for _, l := range list {
		k, v, _ := strings.Cut(l, "=")
		labels[k] = strings.ReplaceAll(v, "$$", "$")
	}
	p := parseLabels(t, labels)
	codes := codesOf(p.Diagnostics)
	if p.Rejected != nil {
		codes = append(codes, p.Rejected.Code)
	}
	return codes
}
