// Package archtest holds the import directions of the architecture.
package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "fairlead/"

// allowed lists what each package may import of ours, a pattern each ("x/..." is x and all below).
// A package that is missing here fails the test: decide its direction first.
var allowed = map[string][]string{
	"router/route":               {},
	"provider":                   {"router/route"},
	"provider/label":             {"router/route"},
	"provider/docker":            {"provider", "provider/label", "router/route"},
	"provider/docker/enginetest": {},
	"provider/file":              {"provider", "provider/label", "router/route"},
	"provider/compose":           {"provider/docker", "provider/label", "router/route"},
	"healthcheck":                {"router/route"},
	"router":                     {"router/route"},
	"router/exchange":            {"router", "router/route"},
	"router/accesslog":           {"router/exchange", "router/route"},
	"router/middleware":          {"router", "router/exchange", "router/route"},
	"router/proxy":               {"router", "router/exchange", "router/middleware", "router/route"},
	"api":                        {"router", "router/route"},
	"api/metrics":                {"api", "router", "router/route"},
	"api/client":                 {"api", "router", "router/route"},
	"api/webhook":                {"api", "router/route"},
	"dashboard":                  {"api", "router", "router/route"},
	"cmd/fairlead":               {"cmd/internal/..."},
	"cmd/internal/...":           {"..."},
	"deploy/e2e":                 {"cmd/internal/...", "router/route"},
	"deploy/console":             {},
}

// source is one non-test Go file and what it imports.
type source struct {
	dir, file string
	imports   []string
}

func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var all []source
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		s := source{dir: filepath.ToSlash(dir), file: name}
		for _, spec := range parsed.Imports {
			value, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, value)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d source files found below %s", len(all), root)
	}
	return all
}

func covers(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	base, deep := strings.CutSuffix(pattern, "/...")
	return pkg == pattern || deep && (pkg == base || strings.HasPrefix(pkg, base+"/"))
}

func rulesFor(pkg string) ([]string, bool) {
	for pattern, rules := range allowed {
		if covers(pattern, pkg) {
			return rules, true
		}
	}
	return nil, false
}

func TestImportDirections(t *testing.T) {
	for _, s := range sources(t) {
		rules, known := rulesFor(s.dir)
		if !known {
			t.Errorf("%s/%s: package %s has no import rule; decide its direction in this test", s.dir, s.file, s.dir)
			continue
		}
		for _, path := range s.imports {
			ours, isOurs := strings.CutPrefix(path, module)
			if !isOurs {
				continue
			}
			if !slices.ContainsFunc(rules, func(r string) bool { return covers(r, ours) }) {
				t.Errorf("%s/%s imports %s: not a direction of the architecture", s.dir, s.file, ours)
			}
		}
	}
}

func TestVocabularyImportsTheStandardLibraryOnly(t *testing.T) {
	for _, s := range sources(t) {
		for _, path := range s.imports {
			if s.dir == "router/route" && strings.Contains(path, ".") {
				t.Errorf("%s/%s imports %s", s.dir, s.file, path)
			}
		}
	}
}

func TestOneFileImportsTheDockerClient(t *testing.T) {
	files := map[string]bool{}
	for _, s := range sources(t) {
		for _, path := range s.imports {
			if strings.HasPrefix(path, "github.com/docker/docker/") {
				files[s.dir+"/"+s.file] = true
			}
		}
	}
	if len(files) != 1 {
		t.Errorf("the Docker client is imported by %v, want exactly one file", files)
	}
}

// TestHTTPTypesStayInTheAdapters keeps the data plane independent of net/http: a native engine joins
// the two adapters, whose files have names of their own, later. Probers own their connections; what they take from the libraries is how
// bytes are framed, file by file, and never a client or a transport.
func TestHTTPTypesStayInTheAdapters(t *testing.T) {
	const adapters = "router/proxy/*_nethttp.go"
	framing := map[string][]string{
		"healthcheck/prober_h2.go":     {"golang.org/x/net/http/httpguts", "golang.org/x/net/http2", "golang.org/x/net/http2/hpack"},
		"healthcheck/response.go":      {"golang.org/x/net/http/httpguts"},
		"healthcheck/response_body.go": {"net/http/httputil"},
	}
	for _, s := range sources(t) {
		inside := covers("router/...", s.dir) || covers("healthcheck", s.dir) || covers("provider/label", s.dir)
		if adapter, err := path.Match(adapters, s.dir+"/"+s.file); err != nil || adapter || !inside {
			continue
		}
		for _, path := range s.imports {
			if slices.Contains(framing[s.dir+"/"+s.file], path) {
				continue
			}
			if path == "net/http" || strings.HasPrefix(path, "net/http/") || strings.HasPrefix(path, "golang.org/x/net/http") {
				t.Errorf("%s/%s imports %s: only %s may", s.dir, s.file, path, adapters)
			}
		}
	}
}

func TestStandsOnTheFixedModules(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, path := range s.imports {
			for _, m := range []string{"github.com/docker/docker/", "github.com/docker/go-connections/", "github.com/rs/zerolog", "github.com/gorilla/websocket"} {
				if strings.HasPrefix(path, m) {
					used[m] = true
				}
			}
		}
	}
	if len(used) != 4 {
		t.Errorf("of the four fixed modules only %v are used", used)
	}
}
