package dashboard

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"fairlead/api"
	"fairlead/router/route"
)

// operateData is the page that asks before something is done to a backend, and that
// shows what a probe saw.
type operateData struct {
	chrome
	Entrypoint string
	ID, Name   string
	Address    string
	Mark       mark
	Act        act
	Effects    []effect
	Back       string // to the entrypoint
	Form       operateForm
	// Problem is why nothing was done, "" when nothing was asked for yet.
	Problem string
	// Force is what to agree to when the problem is that nothing would be left, "" otherwise.
	Force  string
	Report *probeReport
}

// effect is one sentence about what will happen.
type effect struct {
	Text string
	Loud bool
}

// operateForm is what was filled in.
type operateForm struct {
	Reason  string
	For     string
	Scope   string
	Force   bool
	Counted bool
	// Standing is what was ordered when the form was made, "" where that does not matter.
	Standing string
	// Times and Scopes are the choices; none where there is nothing to choose.
	Times, Scopes []option
}

// Bounds of the form.
const (
	formLimit   = 8 << 10 // bytes
	mostReason  = 200     // letters
	leastFor    = time.Second
	mostFor     = 365 * 24 * time.Hour
	partsOfForm = 5 // entrypoints/{id}/backends/{bid}/{name}
)

// isOperation reports whether a path is one of those that take a form.
func isOperation(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) == partsOfForm && parts[0] == pageEntrypoints && parts[2] == pageBackends && labelOf(parts[4]) != ""
}

// operate answers for one operation on one backend: the question, or, when the form was
// sent, what came of it.
func (q *request) operate(entrypoint, id, name string) answer {
	if !q.mayOperate() {
		return q.forbidden()
	}
	t, ok := q.findBackend(entrypoint, id)
	if !ok {
		return q.missing("There is no backend "+id+" of "+entrypoint+".", "It may be gone: its container was removed or replaced.")
	}
	data := q.operateData(t, act{name, labelOf(name)})
	if q.http.Method != http.MethodPost {
		return q.found("operate", data)
	}
	return q.carryOut(t, data)
}

func (q *request) operateData(t target, a act) operateData {
	h, e := t.health(), t.view.Entrypoint
	data := operateData{
		chrome: q.chrome(pageEntrypoints, a.Label+": "+nameOf(&h.Backend)), Entrypoint: e.ID, ID: h.Backend.ID, Name: nameOf(&h.Backend),
		Address: h.Backend.Address(), Mark: markOf(h.State), Act: a, Effects: append(q.replaces(t, a.Name), effects(t, a.Name)...), Back: q.root + pageEntrypoints + "/" + url.PathEscape(e.ID),
	}
	data.Form.choices(h, a.Name)
	if isWord(a.Name) {
		data.Form.Standing = standingOf(t).String()
	}
	return data
}

// choices fills in what can be chosen.
func (f *operateForm) choices(h *route.BackendHealth, name string) {
	f.Scope = string(route.ScopeBackend)
	switch route.OrderAction(name) {
	case route.OrderDrain, route.OrderMaintenance:
		f.Times = times("until somebody makes it ready", "15m", "30m", "1h", "4h", "24h")
	case route.OrderEject:
		f.Times = times("as passive.ejectionTime says", "1m", "5m", "15m", "1h")
		return
	case route.OrderReady:
		if h.Admin.Scope == route.ScopeService {
			f.Scope = string(route.ScopeService)
		}
	default:
		return
	}
	this := "this backend"
	if h.Backend.Container != nil {
		this = "this container, until it restarts"
	}
	f.Scopes = []option{
		{Value: string(route.ScopeBackend), Label: this, Chosen: f.Scope == string(route.ScopeBackend)},
		{Value: string(route.ScopeService), Label: "every backend, later ones too", Chosen: f.Scope == string(route.ScopeService)},
	}
}

func times(never string, list ...string) []option {
	all := []option{{Label: never, Chosen: true}}
	for _, d := range list {
		took, err := time.ParseDuration(d)
		if err != nil {
			panic(err) // a constant
		}
		all = append(all, option{Value: d, Label: span(took)})
	}
	return all
}

// carryOut does what the form says, and shows or leads to what came of it.
func (q *request) carryOut(t target, data operateData) answer {
	if problem := q.fill(&data.Form); problem != "" {
		return q.refused(data, problem, http.StatusUnprocessableEntity)
	}
	h, e := t.health(), t.view.Entrypoint
	if data.Act.Name == actProbe {
		var timeout time.Duration
		if h.Check != nil {
			timeout = h.Check.Check.Timeout
		}
		ctx, cancel := api.ProbeContext(q.writer, q.http, timeout)
		defer cancel()
		report, err := q.d.cfg.Operator.ProbeNow(ctx, e.ID, h.Backend.ID, data.Form.Counted)
		if err != nil {
			return q.failed(data, err)
		}
		data.Report = q.reportOf(&report)
		return q.found("operate", data)
	}
	if isWord(data.Act.Name) && !standingOf(t).holds(q.http.PostForm.Get("standing"), data.Form.Scope) {
		return q.refused(data, q.overtaken(t), http.StatusConflict)
	}
	me, _ := api.Who(q.http)
	o := route.Order{Action: route.OrderAction(data.Act.Name), Actor: me.Name, Reason: data.Form.Reason, Scope: route.OrderScope(data.Form.Scope), Force: data.Form.Force}
	if data.Form.For != "" {
		var err error
		if o.For, err = time.ParseDuration(data.Form.For); err != nil || o.For < leastFor || o.For > mostFor {
			return q.refused(data, "The time is no duration from 1s to a year: write 30m or 1h30m.", http.StatusUnprocessableEntity)
		}
	}
	if err := q.d.cfg.Operator.Order(e.ID, h.Backend.ID, o); err != nil {
		return q.failed(data, err)
	}
	query := url.Values{"done": {data.Act.Name}, "backend": {h.Backend.ID}}
	q.d.say(query, q.replaced(t, data.Act.Name))
	return answer{leads: data.Back + "?" + query.Encode() + "#" + url.PathEscape("backend-"+h.Backend.ID)}
}

// fill reads the form that was sent, and returns what is wrong with it.
func (q *request) fill(f *operateForm) string {
	if kind, _, err := mime.ParseMediaType(q.http.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return "The request is no form of this page."
	}
	if err := q.http.ParseForm(); err != nil {
		return "The form cannot be read: it may be too long."
	}
	sent := q.http.PostForm
	f.Reason = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(sent.Get("reason"), "\ufffd")))
	f.For, f.Force, f.Counted = sent.Get("for"), sent.Get("force") == "yes", sent.Get("count") == "yes"
	choose(f.Times, f.For)
	if scope := sent.Get("scope"); scope != "" {
		if !slices.ContainsFunc(f.Scopes, func(o option) bool { return o.Value == scope }) {
			return "There is no scope of that name."
		}
		f.Scope = scope
		choose(f.Scopes, scope)
	}
	if len([]rune(f.Reason)) > mostReason {
		return "The reason is longer than " + grouped(mostReason) + " letters."
	}
	return ""
}

func choose(list []option, value string) {
	for i := range list {
		list[i].Chosen = list[i].Value == value
	}
}

// refused shows the form again with what was wrong.
func (q *request) refused(data operateData, problem string, status int) answer {
	data.Problem = problem
	out := q.found("operate", data)
	out.status = status
	return out
}

// failed shows why an operation was not carried out.
func (q *request) failed(data operateData, err error) answer {
	var refusal *route.OrderError
	if !errors.As(err, &refusal) {
		q.d.cfg.Log.Error().Err(err).Str("entrypoint", data.Entrypoint).Str("backend", data.ID).Msg("dashboard operation failed")
		return q.refused(data, "It was not done; the router's log says why.", http.StatusInternalServerError)
	}
	status := http.StatusConflict
	switch refusal.Code {
	case route.OrderUnknown:
		status = http.StatusNotFound
	case route.OrderTooOften:
		status = http.StatusTooManyRequests
	case route.OrderWouldEmpty:
		data.Force = "Do it although nothing is left to serve: clients get errors until a backend is ready again"
		if data.Act.Name == string(route.OrderEject) {
			data.Force = "Do it although no verified backend is left: clients get one that is not, or errors"
		}
	case route.OrderImpossible:
	}
	return q.refused(data, sentence(refusal.Message), status)
}

// sentence gives a message of a program a capital and a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	first := []rune(s)
	first[0] = unicode.ToUpper(first[0])
	return strings.TrimSuffix(string(first), ".") + "."
}
