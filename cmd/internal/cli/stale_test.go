package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// away is a view whose engine is unreachable since three hours, and whose file was
// refused an hour ago.
func away(t *testing.T) *router.View {
	t.Helper()
	v := view(t, someVerdicts())
	now := time.Now()
	for i := range v.Entrypoints {
		v.Entrypoints[i].Stale = true
	}
	v.Providers = []route.ProviderStatus{
		{
			Name: "docker", Enabled: true, Configured: true, Phase: route.PhaseStale, Since: now.Add(-3*time.Hour - 12*time.Minute - 30*time.Second),
			LastSync: now.Add(-4 * time.Hour), LastError: "connection refused at unix:///var/run/docker.sock", Hint: "is the engine running? systemctl start docker",
		},
		{
			Name: "file", Enabled: true, Configured: true, Connected: true, Phase: route.PhaseStale, Since: now.Add(-48 * time.Hour), StaleSince: now.Add(-time.Hour - 30*time.Second),
			LastError: "routes.yaml:3:5: unknown key \"confg\"\x1b[31m", Hint: "correct the file; until then the entrypoints stay as they were",
		},
		{Name: "podman"},
	}
	return v
}

func TestStaleGoldens(t *testing.T) {
	w := liveWorld(t, away(t))
	for _, c := range []struct {
		name string
		code int
		args string
	}{
		{"stale-health", 1, "health http_api"},
		{"stale-list", 0, "route list"},
		{"stale-resolve", 0, "route resolve http://shop.localhost/api/v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			r := w.run(strings.Fields(c.args)...)
			if r.code != c.code {
				t.Errorf("exit %d, want %d", r.code, c.code)
			}
			w.golden(c.name, r)
		})
	}
}

// TestStaleInJSON: programs get the same knowledge, and no banner.
func TestStaleInJSON(t *testing.T) {
	w := liveWorld(t, away(t))
	var out struct {
		Stale []stale `json:"stale"`
	}
	r := w.run("route", "resolve", "http://shop.localhost/api/v1", "--json")
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatalf("%v\n%s", err, r.all())
	}
	if len(out.Stale) != 2 || out.Stale[0].Provider != "docker" || out.Stale[0].Since == nil || *out.Stale[0].Hint == "" || *out.Stale[1].LastError == "" {
		t.Errorf("%s", r.out)
	}
	for _, args := range []string{"health --json", "route list --json"} {
		var list []struct {
			Stale bool  `json:"stale"`
			Since int64 `json:"stale_since"`
		}
		r := w.run(strings.Fields(args)...)
		if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) == 0 || !list[0].Stale || list[0].Since == 0 {
			t.Errorf("%s: %v\n%s", args, err, r.out)
		}
	}
}

// TestBanners are what is said about each way of being away.
func TestBanners(t *testing.T) {
	now := time.Date(2026, 3, 4, 15, 30, 0, 0, time.Local)
	at := func(d time.Duration) *int64 { s := now.Add(-d).Unix(); return &s }
	for want, s := range map[string]stale{
		"docker engine unreachable since 15:17:55 (12m 5s): routes are those of then":           {Provider: "docker", Phase: "stale", Since: at(12*time.Minute + 5*time.Second)},
		"podman engine unreachable since 2026-03-03 13:30 (26h 0m): routes are those of then":   {Provider: "podman", Phase: "stale", Since: at(26 * time.Hour)},
		"docker engine unreachable since 15:29:57 (3s), and never read: its routes are missing": {Provider: "docker", Phase: "failed", Since: at(3 * time.Second)},
		"file not readable since 15:29:00 (1m 0s): routes are those of then":                    {Provider: "file", Phase: "stale", Since: at(time.Minute)},
		"file refused since 15:29:00 (1m 0s): routes are those of then":                         {Provider: "file", Phase: "stale", Since: at(time.Minute), connected: true},
		"docker engine unreachable: routes are those of then":                                   {Provider: "docker", Phase: "stale"},
	} {
		if got := s.banner(now); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestNothingRoutedBecauseTheEngineIsAway says since when.
func TestNothingRoutedBecauseTheEngineIsAway(t *testing.T) {
	v := away(t)
	v.Entrypoints = nil
	w := liveWorld(t, v)
	r := w.run("health")
	for _, want := range []string{"There are no entrypoints.", "docker: not connected for 3h 12m: connection refused", "file: connected, but: routes.yaml:3:5"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
}
