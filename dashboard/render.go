package dashboard

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strings"
)

//go:embed templates
var templateFiles embed.FS

// shared are the templates that every page is made with.
const sharedTemplates = "templates/shared"

// pages are the parsed templates, one set for each page.
type pages struct{ sets map[string]*template.Template }

// newPages panics on a template that does not parse: the build is broken then.
func newPages() *pages {
	shared := template.Must(template.New("").Funcs(functions()).ParseFS(templateFiles, sharedTemplates+"/*.html"))
	p := &pages{sets: map[string]*template.Template{}}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		set := template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, file))
		p.sets[strings.TrimSuffix(path.Base(file), ".html")] = set
	}
	return p
}

// render writes a whole page.
func (p *pages) render(w io.Writer, name string, data any) error {
	set, ok := p.sets[name]
	if !ok {
		return fmt.Errorf("there is no page %s", name)
	}
	return set.ExecuteTemplate(w, "layout", data)
}

// renderBare writes a page that has a layout of its own.
func (p *pages) renderBare(w io.Writer, name string, data any) error {
	set, ok := p.sets[name]
	if !ok {
		return fmt.Errorf("there is no page %s", name)
	}
	return set.ExecuteTemplate(w, name, data)
}

// timeline is what the template of that name shows: the transitions of one entrypoint or
// of all.
type timeline struct {
	Root string
	One  bool
	List []transition
}

// card is a backend on the page of its entrypoint, or on one where it must be named.
type card struct {
	Root    string
	Named   bool
	Backend backend
	Done    done
}

func functions() template.FuncMap {
	return template.FuncMap{
		"mark":     markOf[string],
		"words":    words[string],
		"count":    countOf,
		"number":   grouped,
		"esc":      url.PathEscape,
		"join":     func(list []string) string { return strings.Join(list, ", ") },
		"rate":     rateText,
		"share":    shareText,
		"ms":       msText,
		"keys":     shortcuts,
		"timeline": func(root string, one bool, list []transition) timeline { return timeline{root, one, list} },
		"card":     func(root string, named bool, b backend, d done) card { return card{root, named, b, d} },
		"nothing":  func() done { return done{} },
	}
}
