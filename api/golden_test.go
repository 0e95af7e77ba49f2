package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairlead/router"
)

var update = flag.Bool("update", false, "write the golden files anew")

// newServer serves a view to peers on loopback.
func newServer(v *router.View) *Server {
	s := New(Config{Viewer: fixed{v}, Log: zerolog.Nop(), Version: "1.2.3"})
	s.boot = "b00t"
	return s
}

// get asks a server as a program on the same machine does.
func get(s *Server, path string, header ...string) *httptest.ResponseRecorder {
	return ask(s, http.MethodGet, path, header...)
}

func ask(s *Server, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Host, r.RemoteAddr = "127.0.0.1:3035", "127.0.0.1:50000"
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// schemas compiles the contract.
func schemas(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	files, err := filepath.Glob("testdata/schema/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(filepath.Base(f), doc); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// validate holds a value, or each element of a list, to a schema.
func validate(t *testing.T, schema *jsonschema.Schema, body []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	all, ok := value.([]any)
	if !ok {
		all = []any{value}
	}
	for _, one := range all {
		if err := schema.Validate(one); err != nil {
			t.Errorf("%v", err)
		}
	}
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := schemas(t).Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// golden compares with testdata/golden, indented.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, bytes.TrimSpace(body), "", "  "); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	got.WriteByte('\n')
	file := filepath.Join("testdata", "golden", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs from %s (go test ./api -update writes it anew):\n%s", name, file, firstDifference(got.String(), string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return strings.Join(g[max(0, i-5):min(len(g), i+5)], "\n")
		}
	}
	return "it ends early"
}

// TestAnswers holds every answer of the rich view to its golden file and, where there
// is one, to its schema.
func TestAnswers(t *testing.T) {
	sick := panicView().Entrypoint.Backends[0].ID
	for name, c := range map[string]struct{ path, schema string }{
		"index":        {"/", ""},
		"health":       {"/health", "healthy.schema.json"},
		"ready":        {"/ready", "ready.schema.json"},
		"me":           {"/me", ""},
		"entrypoints":  {"/entrypoints", "entrypoint.schema.json"},
		"one_ok":       {"/entrypoints/http_api", "entrypoint.schema.json"},
		"one_panic":    {"/entrypoints/http_sick", "entrypoint.schema.json"},
		"one_shaken":   {"/entrypoints/http_shaken", "entrypoint.schema.json"},
		"one_serviced": {"/entrypoints/http_serviced", "entrypoint.schema.json"},
		"one_busy":     {"/entrypoints/http_busy", "entrypoint.schema.json"},
		"one_scarce":   {"/entrypoints/http_scarce", "entrypoint.schema.json"},
		"one_probed":   {"/entrypoints/http_probed", "entrypoint.schema.json"},
		"one_secure":   {"/entrypoints/http_secure", "entrypoint.schema.json"},
		"backends":     {"/entrypoints/http_sick/backends", "backend_health.schema.json"},
		"backend":      {"/entrypoints/http_sick/backends/" + sick, "backend_health.schema.json"},
		"history":      {"/entrypoints/http_sick/backends/" + sick + "/history", "backend_health.schema.json#/$defs/transition"},
		"checks":       {"/checks", ""},
		"diagnostics":  {"/diagnostics", ""},
		"resolve":      {"/resolve?url=http://half.example.com/x%3Ftoken=" + canary + "&client_ip=10.1.2.3&header=X-Key:" + canary, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := get(newServer(richView()), c.path)
			if w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if c.schema != "" {
				validate(t, compile(t, c.schema), w.Body.Bytes())
			}
			golden(t, name, w.Body.Bytes())
		})
	}
}

// TestProviders runs in a bubble because the age of the last sync is in the answer.
func TestProviders(t *testing.T) {
	var body []byte
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(epoch0)) // virtual
		body = get(newServer(richView()), "/providers").Body.Bytes()
	})
	golden(t, "providers", body)
}

// TestEveryStateIsShown fails when the rich view loses a state: an empty array
// passes a schema.
func TestEveryStateIsShown(t *testing.T) {
	var all []Entrypoint
	if err := json.Unmarshal(get(newServer(richView()), "/entrypoints").Body.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	states, backends, reasons := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range all {
		states[all[i].Health.State] = true
		for _, b := range all[i].BackendHealth {
			backends[b.State], reasons[b.RotationReason] = true, true
			if b.History != nil {
				t.Errorf("%s: a history in the list", all[i].ID)
			}
		}
	}
	for _, s := range []string{"ok", "partial", "panic", "down", "pending", "unchecked"} {
		if !states[s] {
			t.Errorf("no entrypoint is %s", s)
		}
	}
	for _, s := range []string{"up", "down", "pending", "gated", "leaving", "unchecked", "ejected", "trial", "draining", "maintenance"} {
		if !backends[s] {
			t.Errorf("no backend is %s", s)
		}
	}
	for _, s := range []string{"trial", "panic_threshold", "sticky_only", "ejected", "draining", "maintenance", "full"} {
		if !reasons[s] {
			t.Errorf("no backend is in or out of rotation because of %s", s)
		}
	}
}

// TestOfflineViewKeepsTheContract: what a start shows before any probe fits the schema.
func TestOfflineViewKeepsTheContract(t *testing.T) {
	s := snapshotOf(richView().Entrypoints)
	body := get(newServer(router.Offline(s)), "/entrypoints").Body.Bytes()
	validate(t, compile(t, "entrypoint.schema.json"), body)
	if !bytes.Contains(body, []byte(`"http_gated"`)) {
		t.Errorf("no gated entrypoint in %s", body)
	}
}

func TestSecretsAreInNoAnswer(t *testing.T) {
	s := newServer(richView())
	paths := []string{"/", "/health", "/healthy", "/healthz", "/ready", "/me", "/entrypoints", "/entrypoints?q=api", "/checks", "/diagnostics", "/providers",
		"/resolve?url=http://api.example.com/api/x%3Ftoken=" + canary + "&header=X-Key:" + canary + "&client_ip=10.0.0.1",
		"/resolve?url=http://secure.example.com/&header=Cookie:" + canary, "/resolve?url=http://user:" + canary + "@six.example.com/"}
	for _, e := range richView().Entrypoints {
		id := "/entrypoints/" + e.Entrypoint.ID
		paths = append(paths, id, id+"/backends")
		for _, b := range e.Health.Backends {
			paths = append(paths, id+"/backends/"+b.Backend.ID, id+"/backends/"+b.Backend.ID+"/history")
		}
	}
	for _, p := range paths {
		w := get(s, p)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", p, w.Code, w.Body)
		}
		if i := strings.Index(w.Body.String(), canary); i >= 0 {
			t.Errorf("%s shows a secret: ...%s", p, w.Body.String()[max(0, i-80):i+len(canary)])
		}
	}
	body := get(s, "/entrypoints/http_secure").Body.String()
	for _, want := range []string{`/h?token=***\u0026***\u0026mode=***`, `"Authorization":"***"`, `"header_names":["Authorization","X-Probe"]`} {
		if !strings.Contains(body, want) {
			t.Errorf("http_secure lacks %s", want)
		}
	}
}
