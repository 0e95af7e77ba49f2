package refdocs

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api/metrics"
	"fairlead/cmd/internal/config"
	"fairlead/provider/compose"
	"fairlead/provider/file"
	"fairlead/provider/label"
	"fairlead/router/route"
)

// TestYAMLIsTaken: every block of YAML is a compose file, a file of entrypoints, the
// configuration, or a pipeline, and the program that is meant takes it.
func TestYAMLIsTaken(t *testing.T) {
	hash := regexp.MustCompile(`"\$(argon2id|2y)\$[^"]*"`) // pages show how one begins
	for _, page := range pages(t) {
		for i, block := range fenced(read(t, page), "yaml") {
			where := fmt.Sprint(page, "#", i)
			path := filepath.Join(t.TempDir(), "block.yaml")
			block = hash.ReplaceAllString(block, `"$$2y$$12$$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q"`)
			if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			var err error
			switch {
			case strings.Contains(block, "jobs:"):
				// commands_test.go looks at its commands.
			case strings.Contains(block, "services:"):
				_, err = compose.New(compose.Config{Projects: [][]string{{path}}, Label: label.Config{Prefix: "sozune"}}).Collect(t.Context())
			case strings.Contains(block, "entrypoints:"):
				var p *file.Provider
				if p, err = file.New(file.Config{Path: path, Label: label.Config{Prefix: "sozune"}, Log: zerolog.Nop()}); err == nil {
					_, err = p.Collect(t.Context())
				}
			default:
				_, err = config.Load(config.Source{Path: path})
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", where, err, block)
			}
		}
	}
}

// TestReasonsAreThePrograms: the table of reasons has every reason that this version can
// give, with the status and whether it heals.
func TestReasonsAreThePrograms(t *testing.T) {
	page := read(t, "docs/explanation/failures.md")
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+) \\| (yes|no) \\|").FindAllStringSubmatch(page, -1) {
		info := route.Reason(m[1]).Info()
		if heals := map[bool]string{true: "yes", false: "no"}[info.Heals]; fmt.Sprint(info.Status) != m[2] || heals != m[3] {
			t.Errorf("%s: the page says %s and %s, the program %d and %s", m[1], m[2], m[3], info.Status, heals)
		}
		documented[m[1]] = true
	}
	// Later versions give these.
	later := []string{"body_too_large", "denied", "auth_required", "rate_limited", "too_many_in_flight"}
	for _, m := range regexp.MustCompile(`Reason\s+= "(\w+)"`).FindAllStringSubmatch(read(t, "router/route/reason.go"), -1) {
		if !documented[m[1]] && !slices.Contains(later, m[1]) {
			t.Errorf("failures.md does not explain %s", m[1])
		}
	}
}

// TestNamesInSentencesExist: labels, settings, metrics and codes between backticks are
// the program's.
func TestNamesInSentencesExist(t *testing.T) {
	inSentence := regexp.MustCompile("`([^`\n]+)`")
	series := regexp.MustCompile(`fairlead_[a-z_]+`)
	code := regexp.MustCompile(`\b[EWI]\d{3}\b`)
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/reference/") && page != "docs/reference/api.md" {
			continue // generated
		}
		text := read(t, page)
		for _, m := range inSentence.FindAllStringSubmatch(text, -1) {
			name, _, _ := strings.Cut(strings.TrimSuffix(m[1], ":"), "=")
			name, _, _ = strings.Cut(name, ": ")
			if dotted := regexp.MustCompile(`^[a-z][A-Za-z]*(\.[A-Za-z]+)+$`); dotted.MatchString(name) && !knownName(name) {
				t.Errorf("%s names %s, which is neither a label nor a setting", page, name)
			}
		}
		for _, name := range series.FindAllString(text, -1) {
			base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
			if !slices.ContainsFunc(metrics.Families(), func(f metrics.Family) bool { return f.Name == name || f.Name == base }) {
				t.Errorf("%s names %s, which is no metric", page, name)
			}
		}
		for _, c := range code.FindAllString(text, -1) {
			if !slices.ContainsFunc(label.Explanations(), func(e label.Explanation) bool { return e.Code == c }) {
				t.Errorf("%s names %s, which is no code", page, c)
			}
		}
	}
}

// knownName reports whether a dotted name is a label's key, a setting or a part of it,
// or something of another program.
func knownName(name string) bool {
	if strings.HasPrefix(name, "sozune.") || strings.HasPrefix(name, "deploy.") || fileLike(name) {
		return true
	}
	for _, k := range label.Keys() {
		family, _, _ := strings.Cut(k.Name, "<")
		if strings.EqualFold(k.Name, name) || family != k.Name && strings.HasPrefix(name, family) {
			return true
		}
	}
	return slices.ContainsFunc(config.Keys(), func(k config.Key) bool { return k.Path == name || strings.HasPrefix(k.Path, name+".") })
}

// fileLike reports whether a name is that of a file, a host, a package or a unit.
func fileLike(name string) bool {
	last := name[strings.LastIndex(name, ".")+1:]
	return slices.Contains([]string{
		"md", "yaml", "yml", "json", "log", "service", "socket", "sock", "com", "localhost", "go", "txt", "sh", "mod", "Controller", "Secret", "target",
	}, last)
}

// TestDocumentedAddressesAnswer asks a running demo for every address of the admin
// listener that a page names.
func TestDocumentedAddressesAnswer(t *testing.T) {
	s := newShell(t)
	s.demo()
	asked := map[string]bool{}
	get := func(where, path string) {
		path = strings.NewReplacer("{id}", "http_shop", "{bid}", "none").Replace(path)
		if asked[path] {
			return
		}
		asked[path] = true
		res, err := (&http.Client{Timeout: 5 * time.Second}).Get("http://" + s.here.Replace("127.0.0.1:3035") + path)
		if err != nil {
			t.Errorf("%s: %s: %v", where, path, err)
			return
		}
		defer func() { _ = res.Body.Close() }()
		// 403: for admins; 404 of an entity: there is no such backend; 426: a WebSocket.
		if expected := []int{200, 403, 426}; !slices.Contains(expected, res.StatusCode) && !strings.Contains(path, "/none") && path != "/login" {
			t.Errorf("%s: %s answers %d", where, path, res.StatusCode)
		}
	}
	address := regexp.MustCompile("http://127\\.0\\.0\\.1:3035(/[^\\s`)\"'|]*)")
	method := regexp.MustCompile("`GET (/[a-z_{}/.]*)")
	ours := regexp.MustCompile(`http_[a-z]+`) // of examples; the demo has others
	for _, page := range pages(t) {
		text := read(t, page)
		for _, m := range address.FindAllStringSubmatch(text, -1) {
			get(page, ours.ReplaceAllString(m[1], "http_shop"))
		}
		if page == "docs/howto/socket-proxy.md" {
			continue // the engine's addresses
		}
		for _, m := range method.FindAllStringSubmatch(text, -1) {
			get(page, ours.ReplaceAllString(m[1], "http_shop"))
		}
	}
	if len(asked) < 12 {
		t.Errorf("only %d addresses were found: %v", len(asked), asked)
	}
}
