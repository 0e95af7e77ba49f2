package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"fairlead/router"
	"fairlead/router/route"
)

// hostile are names and texts that a stranger's labels may hold.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onmouseover='alert(1)`, `javascript:alert(1)`, `</title><svg/onload=alert(1)>`,
		"\u202egnp.exe", "\u2066rtl\u2069 \u0645\u0631\u062d\u0628\u0627", strings.Repeat("a", 300), strings.Repeat("wide-name-", 30), `{{.Secret}}`, "line\r\nSet-Cookie: a=b",
		"nul\x00byte", "\x1b[2Jwiped", "bad\xff\xfeutf8", `../../etc/passwd`, `?q=1#frag&x=y`, `%2e%2e%2f`, `a:b`, `//evil.example/x`, "<!--", "]]>", "&lt;b&gt;", "`${x}`",
	}
}

// hostileView has one text in every place that comes from outside.
func hostileView(now time.Time, text string) *router.View {
	w := newWorld(now)
	s := w.add(text, "web", "web.example.com").replicas(1, 80)
	s.fail(0, route.Kind(text), text, text, time.Minute, route.OutProbeFailed).is(route.EntrypointDown, time.Minute, text)
	e := s.e
	e.ID, e.Name = "http_"+text, text
	e.Match.Hosts = []route.HostPattern{{Text: text}}
	e.Match.Path = route.PathRule{Kind: route.PathRegex, Value: text}
	e.Match.Methods = []string{text}
	e.Options.AddPrefix = text
	e.Options.Headers = []route.HeaderRule{{Name: text, Value: "x", Direction: route.OnBoth}}
	e.Labels = []route.Origin{{Key: "host", Label: text}}
	e.FailClosed = &route.FailClosed{Code: text, Label: text}
	d := route.Diagnostic{Code: text, Severity: route.SeverityError, Message: text, Label: text, Value: text, Hint: text}
	e.Diagnostics = []route.Diagnostic{d}
	e.Absent = []route.Absence{{CandidateID: text, Name: text, Why: route.AbsenceReason(text), Detail: text}}
	b := &s.h.Backends[0]
	b.Backend.ID, b.Backend.Name, b.Backend.Host, b.Backend.Container.Name, b.Backend.Container.Image = text, text, text, text, text
	b.Explain, b.Code = text, text
	b.History = append(b.History, route.Transition{At: now, Backend: text, From: text, To: text, Cause: text, Message: text, Actor: text, Reason: text})
	b.Admin = route.Admin{State: route.AdminDrain, Actor: text, Reason: text, Since: now, Scope: route.OrderScope(text)}
	b.Passive = &route.PassiveView{State: route.PhaseClosed, BlockedBy: text, Recovery: route.Recovery(text)}
	if c := b.Check; c != nil {
		c.Check.SNI, c.Check.BodyContains, c.Check.BodyRegex, c.Check.GRPCService = text, text, text, text
	}
	s.h.Breaker = &route.BreakerView{State: route.PassivePhase(text)}
	s.done(func(v *router.EntrypointView) { v.ShadowedBy = text })
	w.view.Candidates = []route.CandidateDiagnostics{{CandidateID: text, Diagnostics: []route.Diagnostic{d}}}
	w.view.Rejected = []route.Rejected{{CandidateID: text, Name: text, Project: text, Service: text, Reason: text, Code: text, Hint: text}}
	w.view.Global = []route.Diagnostic{d}
	w.view.Health.Global = []route.Diagnostic{d}
	p := &w.view.Providers[0]
	p.Name, p.Connected, p.Phase, p.LastError, p.Hint, p.Notes, p.EngineVersion = text, false, route.PhaseStale, text, text, []string{text}, text
	return &w.view
}

// inert fails when a page holds anything that a browser would run, or that leads
// elsewhere.
func inert(t *testing.T, what, body string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			scripts++
			if n.FirstChild != nil {
				t.Errorf("%s: a script with a text", what)
			}
		case "iframe", "object", "embed", "base", "img", "style", "meta":
			if n.Data != "meta" {
				t.Errorf("%s: a %s", what, n.Data)
			}
		}
		for _, a := range n.Attr {
			inertAttribute(t, what, n, a)
		}
	}
	if scripts > 1 {
		t.Errorf("%s: %d scripts", what, scripts)
	}
}

func inertAttribute(t *testing.T, what string, n *html.Node, a html.Attribute) {
	t.Helper()
	switch {
	case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", a.Key == "http-equiv":
		t.Errorf("%s: <%s %s=%q>", what, n.Data, a.Key, a.Val)
	case a.Key == "href", a.Key == "src", a.Key == "action", a.Key == "formaction":
		u, err := url.Parse(a.Val)
		if err != nil || u.Scheme != "" || u.Host != "" || strings.HasPrefix(a.Val, "/") {
			t.Errorf("%s: <%s %s=%q> leads elsewhere", what, n.Data, a.Key, a.Val)
		}
	}
}

func TestHostileTextsAreInert(t *testing.T) {
	atNoon(t, func(t *testing.T) {
		for _, text := range hostile() {
			d := newDashboard(hostileView(noon, text), nil)
			for _, page := range append(everyPage(d), "entrypoints?q="+url.QueryEscape(text)+"&state="+url.QueryEscape(text), "diagnostics?q="+url.QueryEscape(text),
				"resolve?url="+url.QueryEscape(text)+"&method="+url.QueryEscape(text)+"&header="+url.QueryEscape(text)+"&client_ip="+url.QueryEscape(text), url.PathEscape(text)) {
				w := get(d, strings.ReplaceAll(page, "\x00", ""))
				if w.Code >= http.StatusInternalServerError {
					t.Errorf("%q %s: %d %s", text, page, w.Code, w.Body)
				}
				if strings.HasSuffix(page, "diagnosis") {
					if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" && w.Code == http.StatusOK {
						t.Errorf("%q: a diagnosis of type %s", text, w.Header().Get("Content-Type"))
					}
					if strings.ContainsAny(w.Body.String(), "\x00\x1b\r\u202e\u2066") || strings.Contains(w.Body.String(), "\nSet-Cookie") {
						t.Errorf("%q moves the cursor", text)
					}
					continue
				}
				inert(t, page, w.Body.String())
			}
		}
	})
}

// TestAHostileNameLeadsToItsPage: escaping must not break the way.
func TestAHostileNameLeadsToItsPage(t *testing.T) {
	for _, text := range hostile() {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			continue // no label survives with these
		}
		d := newDashboard(hostileView(time.Now(), text), nil)
		root, err := html.Parse(strings.NewReader(get(d, "entrypoints").Body.String()))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Data == "a" && attribute(n, "class") == "row" {
				if w := get(d, attribute(n, "href")); w.Code != http.StatusOK {
					t.Errorf("%q: %s leads to %d", text, attribute(n, "href"), w.Code)
				}
			}
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func FuzzTextsAreInert(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	now := time.Now()
	whole := newDashboard(wellView(now), nil)
	f.Fuzz(func(t *testing.T, text string) {
		d := *whole // templates are parsed once
		d.cfg.Viewer = still{hostileView(now, text)}
		for _, page := range []string{"", "entrypoints", "health", "diagnostics", "providers", "entrypoints/" + url.PathEscape("http_"+text)} {
			r := get(&d, page)
			if r.Code >= http.StatusInternalServerError {
				t.Fatalf("%s: %d", page, r.Code)
			}
			inert(t, page, r.Body.String())
		}
	})
}
