package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// everyPage lists the pages of a view: the top ones, and those of every entrypoint.
func everyPage(d *Dashboard) []string {
	pages := []string{"", "entrypoints", "health", "diagnostics", "resolve", "providers", "about", "diagnosis"}
	for _, e := range d.cfg.Viewer.View().Entrypoints {
		id := "entrypoints/" + url.PathEscape(e.Entrypoint.ID)
		pages = append(pages, id, id+"/diagnosis")
	}
	return pages
}

// TestSecretsAreOnNoPage: the worlds hold a canary in every value that may be secret.
func TestSecretsAreOnNoPage(t *testing.T) {
	asked := []string{
		"resolve?url=" + url.QueryEscape("http://admin.example.com/?token="+canary) + "&header=" + url.QueryEscape("X-Key: "+canary+"\nX-There: 1"),
		"resolve?url=" + url.QueryEscape("http://user:"+canary+"@shop.example.com/x") + "&header=" + url.QueryEscape("Authorization: Bearer "+canary),
		"resolve?url=" + url.QueryEscape("shop.example.com/?"+canary) + "&header=" + url.QueryEscape("Cookie: s="+canary+"\nX-Api-Token: "+canary),
		"resolve?url=" + url.QueryEscape("http://[bad/?api_key="+canary) + "&client_ip=nonsense&header=" + url.QueryEscape("X-Session-Id: "+canary),
	}
	atNoon(t, func(t *testing.T) {
		for scene, build := range scenes() {
			if scene == "thousand" {
				continue
			}
			d := newDashboard(build(noon), series{now: noon})
			for _, page := range append(everyPage(d), asked...) {
				w := get(d, page)
				if w.Code >= http.StatusInternalServerError {
					t.Errorf("%s %s: %d", scene, page, w.Code)
				}
				if i := strings.Index(w.Body.String(), canary); i >= 0 {
					t.Errorf("%s %s shows a secret: ...%s", scene, page, w.Body.String()[max(0, i-100):i+len(canary)])
				}
			}
		}
	})
}

// TestTheWorldHoldsCanaries: a test of secrets that looks for nothing proves nothing.
func TestTheWorldHoldsCanaries(t *testing.T) {
	v := brokenView(noon)
	n := map[string]int{}
	for i := range v.Entrypoints {
		e := v.Entrypoints[i].Entrypoint
		for _, h := range e.Options.Headers {
			if h.Value.Reveal() == canary {
				n["header rule"]++
			}
		}
		for _, kv := range append(e.Match.Headers, e.Match.Query...) {
			if kv.Value == canary {
				n["condition"]++
			}
		}
		for j := range e.Backends {
			c := e.Backends[j].Check
			if c != nil && strings.Contains(c.Path, canary) {
				n["check path"]++
			}
			if c != nil && len(c.Headers) > 0 && c.Headers[0].Value.Reveal() == canary {
				n["check header"]++
			}
		}
	}
	for _, place := range []string{"header rule", "condition", "check path", "check header"} {
		if n[place] == 0 {
			t.Errorf("no canary in any %s", place)
		}
	}
}

func TestWhatIsAskedWorksWithItsSecrets(t *testing.T) {
	d := newDashboard(brokenView(noon), nil)
	with := get(d, "resolve?url="+url.QueryEscape("http://admin.example.com/?token="+canary)+"&header="+url.QueryEscape("X-Key: "+canary+"\nX-There: 1")).Body.String()
	if !strings.Contains(with, "served by") || !strings.Contains(with, "not shown again") || !strings.Contains(with, "?token=***") {
		t.Errorf("the values were not used, or it is not said that they are hidden: %s", between(with, "<main", "</main>"))
	}
	without := get(d, "resolve?url="+url.QueryEscape("http://admin.example.com/?page=2")).Body.String()
	if strings.Contains(without, "not shown again") || !strings.Contains(without, "?page=2") {
		t.Error("a plain parameter is hidden")
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}
