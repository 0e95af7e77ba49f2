package refdocs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allPages are pages for people and for those who work on the program.
func allPages(t *testing.T) []string {
	t.Helper()
	list := append(pages(t), "CONTRIBUTING.md", "CHANGELOG.md")
	found, err := filepath.Glob(filepath.Join(root, "docs/adr/*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%v %v", found, err)
	}
	for _, path := range found {
		list = append(list, strings.TrimPrefix(path, root+"/"))
	}
	return list
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	odd     = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the fragments of a page's headings, as code hosts make them.
func anchors(text string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.ReplaceAll(odd.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}

// TestLinksLeadSomewhere: every link inside the repository names a file, and a heading in
// it where it has a fragment.
func TestLinksLeadSomewhere(t *testing.T) {
	count := 0
	for _, page := range allPages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			count++
			path, fragment, _ := strings.Cut(target, "#")
			file := page
			if path != "" {
				file = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
				continue
			}
			if fragment != "" && !slices.Contains(anchors(read(t, file)), fragment) {
				t.Errorf("%s links to %s, which has no such heading; it has %v", page, target, anchors(read(t, file)))
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d links were found", count)
	}
}

// TestIndexNamesEveryPage: what is written can be found.
func TestIndexNamesEveryPage(t *testing.T) {
	index := read(t, "docs/README.md")
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/docs/")
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".md") || name == "README.md" || strings.HasPrefix(name, "adr/0") {
			return err
		}
		if !strings.Contains(index, "("+name) {
			t.Errorf("docs/README.md does not name %s", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestComparisonNamesItsSources: nothing is said of another program without a link.
func TestComparisonNamesItsSources(t *testing.T) {
	page, _, found := strings.Cut(read(t, "docs/explanation/comparison.md"), "\n## Defaults compared\n")
	sections := strings.Split(page, "\n## ")[1:]
	if !found || len(sections) != 5 {
		t.Fatalf("%d programs are compared", len(sections))
	}
	for _, section := range sections {
		name, text, _ := strings.Cut(section, "\n")
		for _, item := range strings.Split(text, "\n- ")[1:] {
			if !strings.Contains(item, "](https://") {
				t.Errorf("%s: no source for: %s", name, item)
			}
		}
	}
}

// TestDefaultsNameTheirSources: each cell about another program is a link to its source,
// or says that there is none.
func TestDefaultsNameTheirSources(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/explanation/comparison.md"), "\n## Defaults compared\n")
	table, _, _ = strings.Cut(table, "\n## ")
	cell := regexp.MustCompile(`^\[[^\]]+\]\[([a-z-]+)\]$`)
	used, rows := map[string]bool{}, 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Question ") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 8 {
			t.Fatalf("%d cells in %s", len(cells), line)
		}
		for _, c := range cells[1:7] {
			c = strings.TrimSpace(c)
			m := cell.FindStringSubmatch(c)
			if c == "–" {
				continue
			}
			if m == nil || !strings.Contains(table, "\n["+m[1]+"]: https://") {
				t.Errorf("no source for %q in %s", c, line)
				continue
			}
			used[m[1]] = true
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\[([a-z-]+)\]: `).FindAllStringSubmatch(table, -1) {
		if !used[m[1]] {
			t.Errorf("the source %s is not used", m[1])
		}
	}
	if rows != 12 {
		t.Errorf("%d questions, want 12", rows)
	}
}

// TestPeersAreThoseOfTheTest: the labels that the page promises are those of the rows
// that are played.
func TestPeersAreThoseOfTheTest(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/explanation/comparison.md"), "\n## The same behaviour by labels\n")
	played, tested := read(t, "cmd/internal/peers/peers_test.go"), 0
	for line := range strings.Lines(table) {
		if !strings.HasSuffix(strings.TrimSpace(line), "| yes |") {
			continue
		}
		tested++
		for _, m := range regexp.MustCompile("`([a-zA-Z]+(?:\\.[a-zA-Z]+)*=[^`]+)`").FindAllStringSubmatch(line, -1) {
			if !regexp.MustCompile(`[\s\x60]` + regexp.QuoteMeta(m[1]) + `[\s\x60]`).MatchString(played) {
				t.Errorf("no row of the test has %s", m[1])
			}
		}
	}
	if tested < 8 {
		t.Errorf("only %d rows are tested", tested)
	}
}

// TestArchitectureNamesEveryPackage: the table of packages is that of the source.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	page := read(t, "docs/explanation/architecture.md")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(page, -1) {
		if info, err := os.Stat(filepath.Join(root, m[1])); err != nil || !info.IsDir() {
			t.Errorf("there is no package %s", m[1])
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == root {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		if strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "docs", "cmd/internal", "deploy", "testdata"}, name) || d.Name() == "testdata" {
			return fs.SkipDir
		}
		sources, err := filepath.Glob(filepath.Join(path, "*.go"))
		sources = slices.DeleteFunc(sources, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
		if err == nil && len(sources) > 0 && !strings.HasSuffix(name, "test") && !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("architecture.md does not name %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadmeIsShort: it is the first page, not all of them.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, 120 at most", n)
	}
}
