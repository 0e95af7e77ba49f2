package dashboard

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"golang.org/x/net/html"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// given is an order or a probe as an operator got it.
type given struct {
	entrypoint, backend string
	order               route.Order
	probe, counted      bool
}

// clerk is an Operator that notes what it is asked for.
type clerk struct {
	got    []given
	err    error
	report route.ProbeReport
	left   time.Duration // that the last probe might take
}

func (c *clerk) Order(entrypoint, backend string, o route.Order) error {
	c.got = append(c.got, given{entrypoint: entrypoint, backend: backend, order: o})
	return c.err
}

func (c *clerk) ProbeNow(ctx context.Context, entrypoint, backend string, counted bool) (route.ProbeReport, error) {
	c.got = append(c.got, given{entrypoint: entrypoint, backend: backend, probe: true, counted: counted})
	end, _ := ctx.Deadline()
	c.left = time.Until(end)
	return c.report, c.err
}

// password of the users of tests, and the users.
const password = "a-long-password"

func staff() []api.User {
	hash := route.Secret(fmt.Sprintf("%x", sha256.Sum256([]byte(password))))
	return []api.User{{Name: "anna", Role: api.RoleAdmin, PasswordHash: hash}, {Name: "rita", Role: api.RoleReadOnly, PasswordHash: hash}}
}

// desk is a dashboard behind the admin listener's guards, with users.
type desk struct {
	clerk
	view    *router.View
	handler http.Handler
	version string
}

func newDesk(v *router.View) *desk {
	k := &desk{view: v}
	d := New(Config{Viewer: still{v}, Log: zerolog.Nop(), Version: "1.4.0", Started: noon.Add(-26 * time.Hour), Explain: meaning, Operator: &k.clerk})
	k.version = d.assets.version
	k.handler = api.New(api.Config{Viewer: still{v}, Log: zerolog.Nop(), Version: "1.4.0", Dashboard: d, LoginPage: d.ServeLogin, Users: staff()}).Handler()
	return k
}

// as asks as a user; a form makes it a POST.
func (k *desk) as(user, page string, form url.Values, header ...string) *httptest.ResponseRecorder {
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r := httptest.NewRequest(method, "/dashboard/"+page, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1234"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	k.handler.ServeHTTP(w, r)
	return w
}

// page of an operation on the i-th backend of an entrypoint.
func (k *desk) page(id string, i int, name string) string {
	return "entrypoints/" + url.PathEscape(id) + "/backends/" + url.PathEscape(k.backend(id, i)) + "/" + name
}

func (k *desk) backend(id string, i int) string {
	for j := range k.view.Entrypoints {
		if e := &k.view.Entrypoints[j]; e.Entrypoint.ID == id {
			return e.Health.Backends[i].Backend.ID
		}
	}
	panic("no entrypoint " + id)
}

// in is the place of the first backend in a state.
func (k *desk) in(id string, state route.State) int {
	for j := range k.view.Entrypoints {
		if e := &k.view.Entrypoints[j]; e.Entrypoint.ID == id {
			return slices.IndexFunc(e.Health.Backends, func(h route.BackendHealth) bool { return h.State == state })
		}
	}
	panic("no entrypoint " + id)
}

func wants(t *testing.T, body string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Errorf("no %q in %s", text, body)
		}
	}
}

func TestOnlyAdministratorsSeeAndReachActions(t *testing.T) {
	k := newDesk(layersView(time.Now()))
	drain := k.page("http_auth", k.in("http_auth", route.StateUp), "drain")
	wants(t, k.as("anna", "entrypoints/http_auth", nil).Body.String(), "data-operate", `id="operator"`, `/drain"`, `/maintenance"`, `/ready"`, `/probe"`)
	if body := k.as("rita", "entrypoints/http_auth", nil).Body.String(); strings.Contains(body, "data-operate") || strings.Contains(body, `id="operator"`) || strings.Contains(body, "/drain") {
		t.Error("one who may only read sees actions")
	}
	for _, form := range []url.Values{nil, {"reason": {"x"}}} {
		if w := k.as("rita", drain, form); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "<form method=\"post\" action=\"drain\"") {
			t.Errorf("one who may only read gets %d: %s", w.Code, w.Body)
		}
		if w := k.as("", drain, form); w.Code != http.StatusUnauthorized && w.Code != http.StatusSeeOther {
			t.Errorf("nobody gets %d", w.Code)
		}
	}
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		if w := k.as("anna", drain, url.Values{"reason": {"x"}}, header...); w.Code != http.StatusForbidden {
			t.Errorf("%v: a page of another origin gets %d", header, w.Code)
		}
	}
	if len(k.got) > 0 {
		t.Errorf("the operator was asked: %+v", k.got)
	}
	plain := newDashboard(layersView(time.Now()), nil)
	if w := get(plain, drain); w.Code != http.StatusForbidden {
		t.Errorf("without an operator there is a form: %d", w.Code)
	}
}

// TestAnOrderIsCarriedOut: who, why, for how long, for what; then back to the backend.
func TestAnOrderIsCarriedOut(t *testing.T) {
	k := newDesk(layersView(time.Now()))
	i := k.in("http_auth", route.StateUp)
	id := k.backend("http_auth", i)
	w := k.as("anna", k.page("http_auth", i, "maintenance"), url.Values{"reason": {"  disk\r\nfull \x1b "}, "for": {"30m"}, "scope": {"service"}, "force": {"yes"}})
	want := given{entrypoint: "http_auth", backend: id, order: route.Order{
		Action: route.OrderMaintenance, Actor: "anna", Reason: "disk  full", For: 30 * time.Minute, Scope: route.ScopeService, Force: true,
	}}
	if len(k.got) != 1 || k.got[0] != want {
		t.Errorf("%+v, want %+v", k.got, want)
	}
	if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != "../../../../entrypoints/http_auth?backend="+id+"&done=maintenance#backend-"+id {
		t.Errorf("%d %s", w.Code, at)
	}
	k.as("anna", k.page("http_auth", i, "drain"), url.Values{"reason": {""}})
	if o := k.got[1].order; o != (route.Order{Action: route.OrderDrain, Actor: "anna", Scope: route.ScopeBackend}) {
		t.Errorf("%+v", o)
	}
	// What is said to have been done is held to the state: an address proves nothing.
	drained := k.backend("http_auth", k.in("http_auth", route.StateDraining))
	wants(t, k.as("anna", "entrypoints/http_auth?done=drain&backend="+drained, nil).Body.String(), "It drains: ")
	for _, query := range []string{"done=drain&backend=" + id, "done=ready&backend=" + drained, "done=<b>&backend=" + drained} {
		if body := k.as("anna", "entrypoints/http_auth?"+query, nil).Body.String(); strings.Contains(body, "It drains") || strings.Contains(body, "It is ready") {
			t.Errorf("%s is believed", query)
		}
	}
}

func TestFormsThatCannotBeUsed(t *testing.T) {
	k := newDesk(layersView(time.Now()))
	i := k.in("http_auth", route.StateUp)
	drain := k.page("http_auth", i, "drain")
	for _, c := range []struct {
		form   url.Values
		header []string
		says   string
	}{
		{url.Values{"for": {"soon"}}, nil, "no duration"},
		{url.Values{"for": {"-1h"}}, nil, "no duration"},
		{url.Values{"scope": {"world"}}, nil, "no scope of that name"},
		{url.Values{"reason": {strings.Repeat("ä", mostReason+1)}}, nil, "longer than"},
		{url.Values{"reason": {strings.Repeat("x", formLimit)}}, nil, "too long"},
		{url.Values{}, []string{"Content-Type", "text/plain"}, "no form of this page"},
		{url.Values{}, []string{"Content-Type", "application/json"}, "no form of this page"},
	} {
		w := k.as("anna", drain, c.form, c.header...)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%v: %d, no %q", c.form, w.Code, c.says)
		}
	}
	if len(k.got) > 0 {
		t.Errorf("%+v", k.got)
	}
	for page, want := range map[string]int{
		k.page("http_auth", i, "explode"): http.StatusNotFound, "entrypoints/http_auth/backends/nobody/drain": http.StatusNotFound,
		"entrypoints/http_none/backends/" + k.backend("http_auth", i) + "/drain": http.StatusNotFound,
	} {
		if w := k.as("anna", page, nil); w.Code != want {
			t.Errorf("%s: %d", page, w.Code)
		}
	}
	if w := k.as("anna", k.page("http_auth", i, "explode"), url.Values{}); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST to no operation: %d", w.Code)
	}
}

// TestARefusalIsShownInThePage: what would empty the entrypoint can be forced from
// there, and nothing else can.
func TestARefusalIsShownInThePage(t *testing.T) {
	k := newDesk(layersView(time.Now()))
	drain := k.page("http_auth", k.in("http_auth", route.StateUp), "drain")
	wants(t, k.as("anna", drain, nil).Body.String(), "No new requests; 5 in flight may finish", "No other backend is left", `name="reason"`, `name="for"`, "1 h")
	for _, c := range []struct {
		err    error
		status int
		force  bool
		says   string
	}{
		{&route.OrderError{Code: route.OrderWouldEmpty, Message: "nothing would be left to serve http_auth"}, http.StatusConflict, true, "Nothing would be left to serve http_auth."},
		{&route.OrderError{Code: route.OrderImpossible, Message: "<b>it is leaving</b>"}, http.StatusConflict, false, "&lt;b&gt;it is leaving&lt;/b&gt;."},
		{&route.OrderError{Code: route.OrderUnknown, Message: "gone"}, http.StatusNotFound, false, "Gone."},
		{&route.OrderError{Code: route.OrderTooOften, Message: "once a second"}, http.StatusTooManyRequests, false, "Once a second."},
		{errors.New("disk " + canary), http.StatusInternalServerError, false, "the router&#39;s log says why"},
	} {
		k.err = c.err
		w := k.as("anna", drain, url.Values{"reason": {"a <i>reason</i>"}, "for": {"1h"}})
		body := w.Body.String()
		if w.Code != c.status || strings.Contains(body, `name="force"`) != c.force || strings.Contains(body, canary) {
			t.Errorf("%v: %d %s", c.err, w.Code, body)
		}
		wants(t, body, c.says, `value="a &lt;i&gt;reason&lt;/i&gt;"`, `<option value="1h" selected>`)
		inert(t, "refusal", body)
	}
}

// TestActionsFitTheState: nothing is offered that cannot be done.
func TestActionsFitTheState(t *testing.T) {
	up := func(change func(h *route.BackendHealth)) *route.BackendHealth {
		c := route.DefaultCheck()
		h := &route.BackendHealth{State: route.StateUp, Backend: route.Backend{Check: &c}, Admin: route.Admin{State: route.AdminReady}}
		change(h)
		return h
	}
	for _, c := range []struct {
		change func(h *route.BackendHealth)
		want   string
	}{
		{func(*route.BackendHealth) {}, "probe drain maintenance"},
		{func(h *route.BackendHealth) { h.Admin.State = "" }, "probe drain maintenance"},
		{func(h *route.BackendHealth) { h.Admin.State = route.AdminDrain }, "probe ready maintenance"},
		{func(h *route.BackendHealth) { h.Admin.State = route.AdminMaintenance }, "probe ready drain"},
		{func(h *route.BackendHealth) { h.Backend.Check = nil }, "drain maintenance"},
		{func(h *route.BackendHealth) { h.State = route.StateLeaving }, ""},
		{func(h *route.BackendHealth) { h.Passive = &route.PassiveView{State: route.PhaseClosed} }, "probe drain maintenance eject"},
		{func(h *route.BackendHealth) { h.Passive = &route.PassiveView{State: route.PhaseOpen} }, "probe drain maintenance uneject"},
		{func(h *route.BackendHealth) { h.Passive = &route.PassiveView{State: route.PhaseHalfOpen} }, "probe drain maintenance uneject"},
	} {
		if got := strings.Join(possible(up(c.change)), " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// expiredReport is a probe that met an expired certificate with hostile names, and
// secrets in its request line.
func expiredReport(now time.Time) route.ProbeReport {
	return route.ProbeReport{
		Address: "172.20.0.9:8443", Hint: "renew the backend's certificate - look at <script>",
		Result: route.ProbeResult{At: now, Kind: route.KindTLSFailure, Message: "the certificate has expired", Remote: "172.20.0.9:8443", Duration: 12 * time.Millisecond,
			Phases: route.Phases{DNS: -1, Connect: 400 * time.Microsecond, TLS: 11 * time.Millisecond, FirstByte: -1, Body: -1}},
		Exchange: route.ProbeExchange{
			RequestLine: "GET /health?token=" + canary + "&" + canary + " HTTP/1.1", RequestHeaders: []string{"Authorization", "Host"}, StatusLine: "HTTP/1.1 200 OK", BodyBytes: 12,
			Certificate: &route.ProbeCertificate{Subject: "CN=<b>pay</b>", Issuer: "CN=Test CA", Names: []string{"pay.example.com"}, NotAfter: now.Add(-time.Hour), Version: "TLS 1.3", Protocol: "h2"},
		},
	}
}

// TestProbeNowShowsWhatItSaw: phases, status, certificate and hint, and no value.
func TestProbeNowShowsWhatItSaw(t *testing.T) {
	now := time.Now()
	k := newDesk(layersView(now))
	k.report = expiredReport(now)
	page := k.page("http_auth", k.in("http_auth", route.StateUp), "probe")
	wants(t, k.as("anna", page, nil).Body.String(), "One probe is sent now", `name="count"`)
	w := k.as("anna", page, url.Values{"count": {"yes"}})
	if k.left < 15*time.Second || k.left > time.Minute {
		t.Errorf("the probe may take %s", k.left) // twice its timeout, and 15 s
	}
	body := w.Body.String()
	wants(t, body, "the certificate has expired", "TLS</span> 11 ms", "DNS</span> not reached", "CN=&lt;b&gt;pay&lt;/b&gt;", "pay.example.com", ", expired", "renew the backend", "look at &lt;script&gt;",
		"GET /health?token=***&amp;*** HTTP/1.1", "Authorization, Host", "HTTP/1.1 200 OK", "12 bytes", "TLS 1.3, h2", "A dry run", "Probe again")
	if w.Code != http.StatusOK || strings.Contains(body, canary) {
		t.Errorf("%d, or a value is shown", w.Code)
	}
	inert(t, "report", body)
	if len(k.got) != 1 || !k.got[0].probe || !k.got[0].counted {
		t.Errorf("%+v", k.got)
	}
	k.as("anna", page, url.Values{})
	if k.got[1].counted {
		t.Error("a probe counts that was not to")
	}
}

// TestPagesOfAdministrators holds what they see to golden files.
func TestPagesOfAdministrators(t *testing.T) {
	for _, name := range []string{"entrypoint", "drain", "maintenance", "ready", "eject", "uneject", "probe"} {
		t.Run(name, func(t *testing.T) {
			atNoon(t, func(t *testing.T) {
				k := newDesk(layersView(noon))
				page := map[string]string{
					"entrypoint": "entrypoints/http_payments", "ready": k.page("http_auth", k.in("http_auth", route.StateMaintenance), "ready"),
					"eject": k.page("http_payments", k.in("http_payments", route.StateUp), "eject"), "uneject": k.page("http_payments", k.in("http_payments", route.StateEjected), "uneject"),
				}[name]
				if page == "" {
					page = k.page("http_auth", k.in("http_auth", route.StateUp), name)
				}
				w := k.as("anna", page, nil)
				if w.Code != http.StatusOK {
					t.Fatal(w.Code)
				}
				golden(t, "admin-"+name, withoutSigns([]byte(strings.ReplaceAll(w.Body.String(), k.version, "VERSION"))))
			})
		})
	}
}

// TestHostileNamesCanBeOperated: escaping neither breaks the way to an operation nor back,
// and no text becomes more than text.
func TestHostileNamesCanBeOperated(t *testing.T) {
	for _, text := range hostile() {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			continue // no label survives with these
		}
		k := newDesk(hostileView(time.Now(), text))
		k.report = route.ProbeReport{Address: text, Hint: text, Result: route.ProbeResult{Kind: route.Kind(text), Message: text, Remote: text},
			Exchange: route.ProbeExchange{RequestLine: text, StatusLine: text, RequestHeaders: []string{text}, ResponseHeaders: []string{text},
				Certificate: &route.ProbeCertificate{Subject: text, Issuer: text, Names: []string{text}, Protocol: text, Version: text}}}
		page := "entrypoints/" + url.PathEscape("http_"+text)
		links := operations(t, k.as("anna", page, nil).Body.String())
		if len(links) < 3 {
			t.Errorf("%q: only %v", text, links)
		}
		for _, link := range links {
			at := strings.TrimPrefix(link, "../")
			for _, form := range []url.Values{nil, {"reason": {strings.ToValidUTF8(text[:min(len(text), mostReason)], "")}}} {
				w := k.as("anna", at, form)
				if w.Code != http.StatusOK && w.Code != http.StatusSeeOther {
					t.Errorf("%q: %s: %d", text, at, w.Code)
				}
				inert(t, at, w.Body.String())
				if to := w.Header().Get("Location"); to != "" {
					back, err := url.Parse("http://localhost/dashboard/" + at)
					if err != nil {
						t.Fatal(err)
					}
					if back, err = back.Parse(to); err != nil || back.Host != "localhost" || back.EscapedPath() != "/dashboard/"+page {
						t.Errorf("%q: an order leads to %s", text, to)
					}
				}
			}
		}
	}
}

// operations are the links of a page that lead to operations.
func operations(t *testing.T, body string) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	for n := range root.Descendants() {
		if n.Data == "a" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "data-operate" }) {
			links = append(links, attribute(n, "href"))
		}
	}
	return links
}
