package dashboard

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// documented are the keys of labels that an entrypoint has for all of its backends.
func documented(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/labels.md")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\| [^\n]*\\| (entrypoint|matcher) \\|").FindAllStringSubmatch(string(page), -1) {
		keys = append(keys, strings.ToLower(row[1]))
	}
	if len(keys) < 50 {
		t.Fatalf("only %d keys", len(keys))
	}
	return keys
}

// everything is an entrypoint with every option on.
func everything() *route.Entrypoint {
	o := route.DefaultOptions()
	o.RetryAttempts = 4
	o.Retry = route.Retry{On: route.RetryConnect | route.Retry503, Methods: "GET,POST", TryDuration: 5 * time.Second, TryInterval: 10 * time.Millisecond}
	o.Sticky = route.Sticky{On: true, Cookie: "sid"}
	o.PanicThreshold, o.NoBackendStatus, o.OnDown, o.HoldFor = 50, 502, route.OnDownClose, time.Second
	o.Breaker = route.Breaker{Threshold: .5, MinRequests: 20, Cooldown: 10 * time.Second}
	o.Passive.Failures, o.Passive.Latency, o.Passive.KeepServing = 5, time.Second, false
	c := route.DefaultCheck()
	c.Path, c.SNI, c.BodyContains, c.BodyRegex, c.FollowRedirects, c.Method, c.Port, c.Host = "/health", "a", "b", "c", true, "HEAD", 9000, "d"
	c.FastInterval, c.DownInterval = time.Second, time.Minute
	b := route.Backend{ID: "1", Host: "10.0.0.1", Port: 80, Check: &c, Weight: 100, MaxConnections: 50, SlowStart: 30 * time.Second, SlowStartMin: 10}
	return &route.Entrypoint{ID: "http_all", Name: "all", Protocol: route.HTTP, Options: o, Backends: []route.Backend{b}}
}

func optionRowsOf(e *route.Entrypoint) []optionRow {
	v := &router.EntrypointView{Entrypoint: e}
	shape := api.EntrypointOf(&router.View{Entrypoints: []router.EntrypointView{*v}}, v, true)
	var rows []optionRow
	for _, g := range optionGroups(v, &shape) {
		rows = append(rows, g.Rows...)
	}
	return rows
}

// TestWhatIsSetIsNoDefault: every option that a key sets is shown with it, and with the
// key of the reference; what each backend sets for itself is said to be its own.
func TestWhatIsSetIsNoDefault(t *testing.T) {
	e := everything()
	for _, key := range documented(t) {
		e.Labels = append(e.Labels, route.Origin{Key: key, Label: "entrypoints[0]." + key})
	}
	rows := optionRowsOf(e)
	for _, row := range rows {
		if row.Origin == "" && !row.Own {
			t.Errorf("%s: %s is shown as a default", row.Name, row.Value)
		}
	}
	for name, want := range map[string]optionRow{
		"Sticky sessions":     {Value: "by a cookie", Origin: "entrypoints[0].stickysession"},
		"Slow start":          {Value: "from 10 % of its weight, in 30s", Own: true},
		"Requests at once":    {Value: "50 for each backend", Own: true},
		"Beyond those":        {Value: "100 wait up to 1s", Origin: "entrypoints[0].maxconnections.queue"},
		"Tries again on":      {Value: "connect, 503", Origin: "entrypoints[0].retry.on"},
		"Methods tried again": {Value: "GET, POST", Origin: "entrypoints[0].retry.methods"},
		"Tries for":           {Value: "up to 5s", Origin: "entrypoints[0].retry.tryduration"},
		"Port":                {Value: "9000", Own: true},
	} {
		want.Name, want.Value = name, strings.TrimSpace(want.Value)
		found := false
		for _, row := range rows {
			found = found || row == want
		}
		if !found {
			t.Errorf("no %+v in %+v", want, rows)
		}
	}
	e.Labels = nil
	for _, row := range optionRowsOf(e) {
		if row.Origin != "" {
			t.Errorf("%+v", row)
		}
	}
}

// TestBackendsThatDiffer are not spoken for by the first.
func TestBackendsThatDiffer(t *testing.T) {
	e := everything()
	plain := e.Backends[0]
	plain.ID, plain.MaxConnections, plain.SlowStart = "0", 0, 0
	same := e.Backends[0]
	for _, c := range []struct {
		backends []route.Backend
		want     string
	}{
		{[]route.Backend{e.Backends[0], same}, "50 for each backend"},
		{[]route.Backend{plain, same}, "50 for each backend; not all backends alike"},
		{[]route.Backend{same, plain}, "50 for each backend; not all backends alike"},
	} {
		e.Backends = c.backends
		got := ""
		for _, row := range optionRowsOf(e) {
			if row.Name == "Requests at once" {
				got = row.Value
			}
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
