package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"fairlead/router"
)

// request is one page in the making: the view it shows and the moment it is shown at.
type request struct {
	d      *Dashboard
	writer http.ResponseWriter
	http   *http.Request
	view   *router.View
	now    time.Time
	// parts are the segments of the path, unescaped.
	parts []string
	query url.Values
	root  string // from the page to the mount, "" or "../" and so on
}

func (d *Dashboard) newRequest(w http.ResponseWriter, r *http.Request, path string) *request {
	q := &request{d: d, writer: w, http: r, view: d.cfg.Viewer.View(), now: time.Now(), query: r.URL.Query()}
	for segment := range strings.SplitSeq(path, "/") {
		text, err := url.PathUnescape(segment)
		if err != nil {
			text = segment
		}
		q.parts = append(q.parts, text)
	}
	q.root = strings.Repeat("../", len(q.parts)-1)
	return q
}

// answer finds the page.
func (q *request) answer() answer {
	switch p := q.parts; {
	case len(p) == 1:
		return q.top(p[0])
	case len(p) == 2 && p[0] == pageEntrypoints && p[1] != "":
		return q.entrypoint(p[1], false)
	case len(p) == partsOfForm && p[0] == pageEntrypoints && p[2] == pageBackends && labelOf(p[4]) != "":
		return q.operate(p[1], p[3], p[4])
	case len(p) == 3 && p[0] == pageEntrypoints && p[2] == pageDiagnosis:
		return q.entrypoint(p[1], true)
	}
	return q.missing("There is no such page.", "The address may be misspelt.")
}

// Pages, by the last part of their address.
const (
	pageOverview    = ""
	pageEntrypoints = "entrypoints"
	pageHealth      = "health"
	pageDiagnostics = "diagnostics"
	pageResolve     = "resolve"
	pageProviders   = "providers"
	pageAbout       = "about"
	pageDiagnosis   = "diagnosis"
	pageBackends    = "backends"
)

func (q *request) top(name string) answer {
	switch name {
	case pageOverview:
		return q.overview()
	case pageEntrypoints:
		return q.entrypoints()
	case pageHealth:
		return q.health()
	case pageDiagnostics:
		return q.diagnostics()
	case pageResolve:
		return q.resolve()
	case pageProviders:
		return q.providers()
	case pageAbout:
		return q.about()
	case pageDiagnosis:
		return answer{text: q.diagnosisOfAll()}
	}
	return q.missing("There is no such page.", "The address may be misspelt.")
}

// missingData is the page for an address that leads nowhere.
type missingData struct {
	chrome
	What, Why string
}

func (q *request) missing(what, why string) answer {
	return q.without(http.StatusNotFound, "Not found", what, why)
}

// without is a page that says why there is nothing to see.
func (q *request) without(status int, heading, what, why string) answer {
	page := "nowhere"
	if q.parts[0] == pageEntrypoints {
		page = pageEntrypoints // one that was there a moment ago: its page stays current
	}
	return answer{status: status, page: "missing", data: missingData{q.chrome(page, heading), what, why}}
}

func (q *request) found(page string, data any) answer {
	return answer{status: http.StatusOK, page: page, data: data}
}
