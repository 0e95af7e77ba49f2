package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contractTest holds answers to the OpenAPI document and notes which parts were seen.
type contractTest struct {
	*testing.T
	doc  map[string]any
	all  *jsonschema.Compiler
	seen map[string]bool // "GET /path 200"
}

// newContractTest compiles the document with every object closed, so that a field that
// is not in it fails.
func newContractTest(t *testing.T) *contractTest {
	t.Helper()
	body := get(withMetrics(), "/openapi.json").Body.Bytes()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	doc := value.(map[string]any)
	for _, one := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		if object := one.(map[string]any); object["properties"] != nil {
			object["additionalProperties"] = false
		}
	}
	c := &contractTest{T: t, doc: doc, all: jsonschema.NewCompiler(), seen: map[string]bool{}}
	if err := c.all.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// holds checks one answer: its status is described, and its body as it is.
func (c *contractTest) holds(method, path string, status int, contentType string, body []byte) {
	c.Helper()
	part := fmt.Sprintf("%s %s %d", method, path, status)
	c.seen[part] = true
	pointer := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(status)}
	var node any = c.doc
	for _, name := range pointer {
		object, _ := node.(map[string]any)
		if node = object[name]; node == nil {
			c.Errorf("%s is not in the contract: %s", part, body)
			return
		}
	}
	described := node.(map[string]any)["content"] != nil
	if isJSON := contentType == "application/json"; isJSON != described {
		if isJSON || status < 300 && contentType == "" {
			c.Errorf("%s: the contract describes a body: %t; the answer is %q", part, described, contentType)
		}
		return
	}
	if !described {
		return
	}
	escaped := make([]string, len(pointer))
	for i, name := range pointer {
		escaped[i] = url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	compiled, err := c.all.Compile("openapi.json#/" + strings.Join(escaped, "/") + "/content/application~1json/schema")
	if err != nil {
		c.Fatalf("%s: %v", part, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		c.Fatalf("%s: %v", part, err)
	}
	if err := compiled.Validate(value); err != nil {
		c.Errorf("%s: %v", part, err)
	}
}

func (c *contractTest) check(method, path string, w *httptest.ResponseRecorder, want int) {
	c.Helper()
	if w.Code != want {
		c.Errorf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, want)
	}
	c.holds(method, path, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes())
}

// withMetrics is a server that has every endpoint.
func withMetrics() *Server {
	return New(Config{Viewer: fixed{richView()}, Log: zerolog.Nop(), Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
	})})
}

func TestContractHasEveryEndpoint(t *testing.T) {
	s := withMetrics()
	known, ids := operations(), map[string]bool{}
	for i := range s.routes {
		for _, method := range s.routes[i].verbs() {
			name, id := method+" "+s.routes[i].path, operationID(method, s.routes[i].path)
			if _, ok := known[name]; !ok || ids[id] {
				t.Errorf("%s is not in the contract, or has the id %s of another", name, id)
			}
			ids[id] = true
			delete(known, name)
		}
	}
	for name := range known {
		t.Errorf("%s is in the contract only", name)
	}
}

// TestContractHoldsForEveryAnswer asks each endpoint for each status that the document
// names, and holds the answers to it.
func TestContractHoldsForEveryAnswer(t *testing.T) {
	c := newContractTest(t)
	s := newServer(richView())
	sick := panicView().Entrypoint.Backends[0].ID
	for _, e := range richView().Entrypoints {
		c.check("GET", "/entrypoints/{id}", get(s, "/entrypoints/"+e.Entrypoint.ID), 200)
		c.check("GET", "/entrypoints/{id}/backends", get(s, "/entrypoints/"+e.Entrypoint.ID+"/backends"), 200)
		c.check("GET", "/resolve", get(s, "/resolve?url=http://"+strings.TrimPrefix(e.Entrypoint.ID, "http_")+".example.com/x"), 200)
	}
	for path, asked := range map[string]string{
		"/": "/", "/health": "/health", "/healthy": "/healthy", "/healthz": "/healthz", "/ready": "/ready", "/me": "/me", "/checks": "/checks",
		"/entrypoints": "/entrypoints", "/diagnostics": "/diagnostics", "/providers": "/providers", "/traffic": "/traffic", "/openapi.json": "/openapi.json",
		"/entrypoints/{id}/backends/{bid}":         "/entrypoints/http_sick/backends/" + sick,
		"/entrypoints/{id}/backends/{bid}/history": "/entrypoints/http_sick/backends/" + sick + "/history",
		"/entrypoints/{id}/traffic":                "/entrypoints/http_api/traffic",
	} {
		c.check("GET", path, get(s, asked), 200)
		if strings.Contains(path, "{bid}") {
			c.check("GET", path, get(s, strings.Replace(asked, sick, "none", 1)), 404)
		}
		if strings.Contains(path, "{") {
			c.check("GET", path, get(s, strings.Replace(asked, "http_", "none_", 1)), 404)
		}
	}
	c.check("GET", "/entrypoints/{id}", get(s, "/entrypoints/none"), 404)
	c.check("GET", "/entrypoints/{id}/backends", get(s, "/entrypoints/none/backends"), 404)
	for path, asked := range map[string]string{"/entrypoints": "/entrypoints", "/entrypoints/{id}": "/entrypoints/http_api"} {
		c.check("GET", path, get(s, asked, "If-None-Match", "*"), 304)
	}
	for _, path := range []string{"/entrypoints", "/resolve", "/events"} {
		c.check("GET", path, get(s, path+"?no=such"), 400)
	}
	c.check("GET", "/events", get(s, "/events"), 426)
	s.watchers.count = maxWatchers
	c.check("GET", "/events", get(s, "/events", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13"), 503)
	c.seen["GET /events 101"] = true // TestEventFramesFollowTheContract
	c.check("GET", "/metrics", get(withMetrics(), "/metrics"), 200)
	stopping := newServer(richView())
	stopping.cfg.Phase = func() bool { return true }
	c.check("GET", "/ready", get(stopping, "/ready"), 503)
	c.logins()
	c.orders()
	c.guards()
	for path, methods := range c.doc["paths"].(map[string]any) {
		for method, o := range methods.(map[string]any) {
			if method == "parameters" {
				continue
			}
			for status := range o.(map[string]any)["responses"].(map[string]any) {
				if part := strings.ToUpper(method) + " " + path + " " + status; !c.seen[part] {
					t.Errorf("%s is in the contract and was not seen", part)
				}
			}
		}
	}
}

// logins covers the endpoints of users.
func (c *contractTest) logins() {
	c.Helper()
	form := func(h *house, path string, f url.Values) *httptest.ResponseRecorder { return h.form(path, f) }
	program := func(h *house, body string) *httptest.ResponseRecorder {
		return h.from(far, "POST", "/login", body, "Content-Type", "application/json")
	}
	h := newHouse(nil)
	h.routes = h.endpoints()
	c.check("GET", "/config", h.from(far, "GET", "/config", "", basic("ops", canary)...), 200)
	c.check("GET", "/login", h.from(far, "GET", "/login", ""), 200)
	c.check("POST", "/login", form(h, "/login", fields("ops", canary, "")), 303)
	c.check("POST", "/login", program(h, `{"name":"ops","password":"`+canary+`"}`), 200)
	c.check("POST", "/login", program(h, `{`), 400)
	c.check("POST", "/login", h.from(far, "POST", "/login", "x"), 415)
	c.check("POST", "/login", form(h, "/login", fields("ops", "x", "")), 401)
	for range triesPerAddress - 1 {
		c.check("POST", "/login", program(h, `{"name":"ops","password":"x"}`), 401)
	}
	c.check("POST", "/login", program(h, `{"name":"ops","password":"x"}`), 429)
	c.check("POST", "/logout", form(h, "/logout", nil), 303)
	c.check("POST", "/logout", h.from(far, "POST", "/logout", ""), 204)
	none := newHouse(func(cfg *Config) { cfg.Users = nil })
	c.check("GET", "/login", none.from(here, "GET", "/login", ""), 404)
	c.check("POST", "/login", none.from(here, "POST", "/login", ""), 404)
}

// guards covers what every endpoint behind them refuses.
func (c *contractTest) guards() {
	c.Helper()
	h := newHouse(nil)
	h.routes = withMetrics().routes
	for range triesPerAddress {
		h.from(far, "GET", "/me", "", basic("ops", "x")...)
	}
	replace := strings.NewReplacer("{id}", "http_api", "{bid}", "x")
	for i := range h.routes {
		e := &h.routes[i]
		if e.open {
			continue
		}
		asked := replace.Replace(e.path)
		for _, method := range e.verbs() {
			r := httptest.NewRequest(method, asked, http.NoBody)
			r.Host, r.RemoteAddr = "evil.example", far
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, r)
			c.check(method, e.path, w, 403)
			if e.path != "/login" && e.path != "/logout" {
				c.check(method, e.path, h.from("198.51.100.7:1", method, asked, ""), 401)
				c.check(method, e.path, h.from(far, method, asked, "", basic("ops", "y")...), 429)
			}
		}
	}
}

// TestContractNamesEveryParameter: what it names is taken, and nothing else is.
func TestContractNamesEveryParameter(t *testing.T) {
	s := newServer(richView())
	for name, o := range operations() {
		path := strings.TrimPrefix(name, "GET ")
		if len(o.query) == 0 || path == "/login" {
			continue
		}
		e := decodeError(t, get(s, path+"?zzz=1").Body.Bytes())
		_, known, _ := strings.Cut(e.Message, "known are ")
		var documented []string
		for _, p := range o.query {
			documented = append(documented, p.name)
		}
		if got := strings.Split(known, ", "); !slices.Equal(got, documented) {
			t.Errorf("%s takes %v and the contract names %v", path, got, documented)
		}
	}
	for _, word := range entrypointFilters()[1].one {
		if w := get(s, "/entrypoints?state="+word); w.Code != http.StatusOK {
			t.Errorf("state %s: %d", word, w.Code)
		}
	}
}

func TestEventFramesFollowTheContract(t *testing.T) {
	c := newContractTest(t)
	compiled, err := c.all.Compile("openapi.json#/components/schemas/Event")
	if err != nil {
		t.Fatal(err)
	}
	tr, lost := wentDown(1), uint64(3)
	table, _ := compareTables(richView(), richView())
	for _, frame := range []any{
		EventHello{Type: FrameHello, Boot: "b"}, newEventTransition(4, &tr), &table, EventGap{Type: FrameGap, Lost: &lost}, EventGap{Type: FrameGap},
		EventProvider{Type: FrameProvider, Provider: newProviders(richView(), epoch0).Providers[0]},
	} {
		text, _ := json.Marshal(frame)
		value, _ := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestContractIsReadable: the document itself is what programs expect.
func TestContractIsReadable(t *testing.T) {
	c := newContractTest(t)
	names := slices.Sorted(maps.Keys(c.doc["components"].(map[string]any)["schemas"].(map[string]any)))
	for _, name := range []string{"Entrypoint", "BackendHealth", "Error", "Event", "Resolution", "Provider", "Diagnostic"} {
		if !slices.Contains(names, name) {
			t.Errorf("no schema %s in %v", name, names)
		}
	}
	text, _ := json.Marshal(c.doc)
	if bytes.Contains(text, []byte(`null,"type"`)) || c.doc["openapi"] != "3.1.0" {
		t.Errorf("%.300s", text)
	}
	for part := range strings.SplitSeq(string(text), `"$ref":"#/components/schemas/`) {
		name, _, _ := strings.Cut(part, `"`)
		if !strings.HasPrefix(part, "{") && !slices.Contains(names, name) {
			t.Errorf("a reference to %s leads nowhere", name)
		}
	}
}
