package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// desk is an operator that notes what it is told.
type desk struct {
	orders []route.Order
	target string
	counts []bool
	err    error
	report route.ProbeReport
}

func (d *desk) Order(entrypoint, backend string, o route.Order) error {
	d.target, d.orders = entrypoint+" "+backend, append(d.orders, o)
	return d.err
}

func (d *desk) ProbeNow(_ context.Context, entrypoint, backend string, count bool) (route.ProbeReport, error) {
	d.target, d.counts = entrypoint+" "+backend, append(d.counts, count)
	return d.report, d.err
}

// office is a server with users whose orders go to a desk.
func office(d *desk) *house {
	h := newHouse(func(cfg *Config) { cfg.Operator = d })
	h.routes = h.endpoints()
	return h
}

// sickBackend is one of the views' backends.
func sickBackend() string { return panicView().Entrypoint.Backends[0].ID }

// tell posts JSON as a program of the admin ops.
func (h *house) tell(path, body string, header ...string) *httptest.ResponseRecorder {
	header = append(append([]string{"Content-Type", "application/json"}, basic("ops", canary)...), header...)
	return h.from(far, "POST", path, body, header...)
}

func orderPath(action string) string {
	return "/entrypoints/http_sick/backends/" + sickBackend() + "/" + action
}

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		action, body string
		want         route.Order
	}{
		{"drain", `{"reason":"kernel update","for":"30m"}`, route.Order{Reason: "kernel update", For: 30 * time.Minute}},
		{"maintenance", `{"scope":"service","force":true}`, route.Order{Scope: route.ScopeService, Force: true}},
		{"ready", ``, route.Order{}},
		{"eject", `{"for":"90s"}`, route.Order{For: 90 * time.Second}},
		{"uneject", `{"scope":"backend"}`, route.Order{}},
	} {
		d := &desk{}
		w := office(d).tell(orderPath(c.action), c.body)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", c.action, w.Code, w.Body)
		}
		c.want.Action, c.want.Actor = route.OrderAction(c.action), "ops"
		if c.want.Scope == "" {
			c.want.Scope = route.ScopeBackend
		}
		if len(d.orders) != 1 || !reflect.DeepEqual(d.orders[0], c.want) || d.target != "http_sick "+sickBackend() {
			t.Errorf("%s: %+v for %s", c.action, d.orders, d.target)
		}
		schema, err := schemas(t).Compile("backend_health.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		validate(t, schema, w.Body.Bytes())
	}
}

// TestOrdersRefused: what is refused never reaches the operator, and says which field is
// wrong.
func TestOrdersRefused(t *testing.T) {
	drain, id := orderPath("drain"), sickBackend()
	for _, c := range []struct {
		name, path, body string
		status           int
		code, field      string
	}{
		{"no such entrypoint", strings.Replace(drain, "http_sick", "none", 1), "{}", 404, CodeNotFound, ""},
		{"no such backend", strings.Replace(drain, id, "none", 1), "{}", 404, CodeNotFound, ""},
		{"no such backend to probe", strings.Replace(orderPath("probe"), id, "none", 1), "{}", 404, CodeNotFound, ""},
		{"broken", drain, "{", 400, CodeBadParameter, ""},
		{"two values", drain, "{}{}", 400, CodeBadParameter, ""},
		{"unknown field", drain, `{"resaon":"x"}`, 400, CodeBadParameter, "resaon"},
		{"wrong type", drain, `{"force":"yes"}`, 400, CodeBadParameter, "force"},
		{"too long a body", drain, `{"reason":"` + strings.Repeat("a", maxOrderBody) + `"}`, 400, CodeBadParameter, ""},
		{"too long a reason", drain, `{"reason":"` + strings.Repeat("a", maxOrderReason+1) + `"}`, 422, CodeInvalid, "reason"},
		{"a reason of two lines", drain, `{"reason":"a\nb"}`, 422, CodeInvalid, "reason"},
		{"a scope", drain, `{"scope":"all"}`, 422, CodeInvalid, "scope"},
		{"no duration", drain, `{"for":"soon"}`, 422, CodeInvalid, "for"},
		{"a bare number", drain, `{"for":"30"}`, 422, CodeInvalid, "for"},
		{"no time at all", drain, `{"for":"0s"}`, 422, CodeInvalid, "for"},
		{"too long", drain, `{"for":"8761h"}`, 422, CodeInvalid, "for"},
		{"ready for a while", orderPath("ready"), `{"for":"1m"}`, 422, CodeInvalid, "for"},
	} {
		d := &desk{}
		w := office(d).tell(c.path, c.body)
		e := decodeError(t, w.Body.Bytes())
		if w.Code != c.status || e.Code != c.code || e.Field != c.field || len(d.orders)+len(d.counts) != 0 {
			t.Errorf("%s: %d %+v, orders %v", c.name, w.Code, e, d.orders)
		}
	}
}

// TestOrdersGuarded: a role that may not, a page of another origin, a form and a GET do
// nothing.
func TestOrdersGuarded(t *testing.T) {
	asJSON := []string{"Content-Type", "application/json"}
	for _, action := range []string{"probe", "drain", "maintenance", "ready", "eject", "uneject"} {
		d := &desk{}
		h, path := office(d), orderPath(action)
		for name, c := range map[string]struct {
			w      *httptest.ResponseRecorder
			status int
		}{
			"nobody":          {h.from(far, "POST", path, "{}", asJSON...), 401},
			"a reader":        {h.from(far, "POST", path, "{}", append(basic("watch", canary), asJSON...)...), 403},
			"another origin":  {h.tell(path, "{}", "Origin", "http://evil.example"), 403},
			"another site":    {h.tell(path, "{}", "Sec-Fetch-Site", "cross-site"), 403},
			"a form":          {h.from(far, "POST", path, "force=true", append(basic("ops", canary), "Content-Type", "application/x-www-form-urlencoded")...), 415},
			"no content type": {h.from(far, "POST", path, "{}", basic("ops", canary)...), 415},
			"a link":          {h.from(far, "GET", path, "", basic("ops", canary)...), 405},
		} {
			if c.w.Code != c.status {
				t.Errorf("%s by %s: %d %s, want %d", action, name, c.w.Code, c.w.Body, c.status)
			}
		}
		none := newHouse(func(cfg *Config) { cfg.Users, cfg.Operator, cfg.Anonymous = nil, d, true })
		if w := none.from(here, "POST", path, "{}", asJSON...); w.Code != http.StatusForbidden {
			t.Errorf("%s without users: %d", action, w.Code)
		}
		if len(d.orders)+len(d.counts) != 0 {
			t.Errorf("%s was carried out: %v %v", action, d.orders, d.counts)
		}
	}
}

func TestOrdersRefusedByTheOperator(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
		field  string
		retry  string
	}{
		{&route.OrderError{Code: route.OrderUnknown, Message: "gone"}, 404, "not_found", "", ""},
		{&route.OrderError{Code: route.OrderWouldEmpty, Message: "the last one"}, 409, "would_empty", "force", ""},
		{&route.OrderError{Code: route.OrderImpossible, Message: "no"}, 409, "conflict", "", ""},
		{&route.OrderError{Code: route.OrderTooOften, Message: "again"}, 429, "rate_limited", "", "1"},
		{errors.New("no result in time"), 504, CodeTimeout, "", ""},
	} {
		for _, action := range []string{"drain", "probe"} {
			w := office(&desk{err: c.err}).tell(orderPath(action), "{}")
			e := decodeError(t, w.Body.Bytes())
			if w.Code != c.status || e.Code != c.code || e.Field != c.field || w.Header().Get("Retry-After") != c.retry || e.Message != c.err.Error() {
				t.Errorf("%v: %d %+v %v", c.err, w.Code, e, w.Header())
			}
		}
	}
	h := newHouse(nil)
	h.routes = h.endpoints()
	for _, action := range []string{"drain", "probe"} {
		if w := h.tell(orderPath(action), "{}"); w.Code != http.StatusConflict {
			t.Errorf("%s without an operator: %d", action, w.Code)
		}
	}
}

// TestProbeNowAnswer: every part of a report, against the schema; no value of a header or
// a query is in it.
func TestProbeNowAnswer(t *testing.T) {
	check := route.DefaultCheck()
	check.Type, check.Scheme, check.Path = route.ProbeHTTP, route.SchemeHTTPS, "/health?key="+canary
	check.Headers = []route.CheckHeader{{Name: "Authorization", Value: route.Secret(canary)}}
	full := route.ProbeReport{
		Address: "10.0.0.5:8443", Check: route.CheckView{ID: "abc", Check: check, Target: "10.0.0.5:8443"}, Counted: true, Hint: "set healthCheck.host",
		Result: route.ProbeResult{At: epoch0, Kind: route.KindBadStatus, Message: "got 421", Status: 421, GRPC: -1, Remote: "10.0.0.5:8443", Duration: time.Millisecond},
		Exchange: route.ProbeExchange{
			RequestLine: "GET /health?key=*** HTTP/1.1", RequestHeaders: []string{"Authorization", "Host"}, StatusLine: "HTTP/1.1 421 Misdirected Request",
			ResponseHeaders: []string{"Date"}, BodyBytes: 12,
			Certificate: &route.ProbeCertificate{Subject: "CN=a", Issuer: "CN=b", Names: []string{"a"}, NotBefore: epoch0, NotAfter: epoch0, Version: "TLS 1.3"},
		},
	}
	bare := route.ProbeReport{Address: "10.0.0.5:80", Check: route.CheckView{Check: route.DefaultCheck()}, Result: route.ProbeResult{At: epoch0, OK: true, GRPC: -1}}
	schema, err := schemas(t).Compile("probe.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := newContractTest(t)
	for _, report := range []route.ProbeReport{full, bare} {
		d := &desk{report: report}
		w := office(d).tell(orderPath("probe"), `{"count":true}`)
		if w.Code != http.StatusOK || len(d.counts) != 1 || !d.counts[0] || strings.Contains(w.Body.String(), canary) {
			t.Fatalf("%d %s %v", w.Code, w.Body, d.counts)
		}
		validate(t, schema, w.Body.Bytes())
		c.check("POST", "/entrypoints/{id}/backends/{bid}/probe", w, 200)
		want := `"counted":false,"would_be":"success","certificate":null,"hint":null`
		if report.Counted {
			want = `"counted":true,"would_be":"failure","request":{"line":"GET /health?key=*** HTTP/1.1","header_names":["Authorization","Host"]},` +
				`"response":{"status_line":"HTTP/1.1 421 Misdirected Request","header_names":["Date"],"body_bytes":12}`
		}
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s\nwant %s", w.Body, want)
		}
	}
}

// orders covers what the contract says of orders.
func (c *contractTest) orders() {
	c.Helper()
	check := route.DefaultCheck()
	report := route.ProbeReport{Check: route.CheckView{Check: check}, Result: route.ProbeResult{OK: true, GRPC: -1}}
	for _, action := range []string{"probe", "drain", "maintenance", "ready", "eject", "uneject"} {
		path, asked := "/entrypoints/{id}/backends/{bid}/"+action, orderPath(action)
		h := office(&desk{report: report})
		c.check("POST", path, h.tell(asked, ""), 200)
		c.check("POST", path, h.tell(asked, "{"), 400)
		c.check("POST", path, h.tell(strings.Replace(asked, "http_sick", "none", 1), ""), 404)
		c.check("POST", path, h.tell(asked, "", "Content-Type", "text/plain"), 200) // the first one counts
		c.check("POST", path, h.from(far, "POST", asked, "", basic("ops", canary)...), 415)
		c.check("POST", path, office(&desk{err: &route.OrderError{Code: route.OrderWouldEmpty}}).tell(asked, ""), 409)
		if action == "probe" {
			c.check("POST", path, office(&desk{err: context.DeadlineExceeded}).tell(asked, ""), 504)
			continue
		}
		c.check("POST", path, h.tell(asked, `{"scope":"x"}`), 422)
	}
}
