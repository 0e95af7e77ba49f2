package dashboard

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// forbidden is what neither a template nor a static file may hold: the policy of the
// pages would refuse it, or the page would ask somebody else.
var forbidden = map[string]*regexp.Regexp{
	"an inline style":      regexp.MustCompile(`(?i)\sstyle\s*=|<style\b|\.style\.|setAttribute\(['"]style`),
	"an inline handler":    regexp.MustCompile(`(?i)<[^>]*\son[a-z]+\s*=`),
	"an inline script":     regexp.MustCompile(`(?i)<script(?:\s+(?:type="module"))?\s*>|javascript:`),
	"a foreign address":    regexp.MustCompile(`(?i)(?:src|href|action|url|import|from)\s*[=(\s]\s*['"(]?(?:https?:)?//`),
	"HTML made by script":  regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\(|new Function`),
	"an absolute address":  regexp.MustCompile(`(?i)(?:src|href|action)="/`),
	"a font from anywhere": regexp.MustCompile(`@font-face|@import`),
}

func TestNothingInlineAndNothingForeign(t *testing.T) {
	n := 0
	for _, files := range []fs.FS{templateFiles, staticFiles} {
		err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			n++
			for what, pattern := range forbidden {
				for _, at := range pattern.FindAllString(string(text), -1) {
					if strings.Contains(at, "http://www.w3.org/2000/svg") {
						continue // the name of a language, no address
					}
					t.Errorf("%s holds %s: %q", name, what, at)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 20 {
		t.Errorf("only %d files were read", n)
	}
}

// TestTheRulesFindWhatTheyForbid keeps the patterns from becoming blind.
func TestTheRulesFindWhatTheyForbid(t *testing.T) {
	for what, samples := range map[string][]string{
		"an inline style":     {`<p style="color:red">`, "<style>", `node.style.width = '3px'`},
		"an inline handler":   {`<button onclick="x()">`, "<a href=x\n onfocus = y>"},
		"an inline script":    {"<script>alert(1)</script>", `<a href="javascript:x">`},
		"a foreign address":   {`<script src="https://cdn.example/x.js">`, `<img src="//cdn.example/x">`, `url(https://x.example/f.woff)`, `import x from 'https://x.example/m.js'`},
		"an absolute address": {`<a href="/entrypoints">`, `<form action="/login">`},
		"HTML made by script": {"node.innerHTML = x", "new DOMParser()"},
	} {
		for _, s := range samples {
			if !forbidden[what].MatchString(s) {
				t.Errorf("%s is not found in %s", what, s)
			}
		}
	}
}
