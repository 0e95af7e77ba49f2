package app

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"fairlead/api"
	"fairlead/provider/docker/enginetest"
)

// asked reads an answer of the admin listener.
func asked[T any](t *testing.T, admin, path string) (out T) {
	t.Helper()
	status, body, err := get(admin, admin, path)
	if err != nil || status != 200 {
		t.Fatalf("%s: %v %d %s", path, err, status, body)
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%s: %v %s", path, err, body)
	}
	return out
}

// TestALostEngineIsSeenEverywhere: in /providers, /entrypoints and /ready with its
// beginning, while /ready stays 200, and in the log with its beginning and its end.
func TestALostEngineIsSeenEverywhere(t *testing.T) {
	e := enginetest.New(enginetest.Docker29)
	e.AddNetwork(enginetest.Network{Name: "edge"})
	self := e.Run(enginetest.Container{Name: "router", Networks: []string{"edge"}})
	e.Run(enginetest.Container{
		Name: "app", Networks: []string{"edge"}, Expose: []string{"80/tcp"},
		Labels: map[string]string{"sozune.enable": "true", "sozune.http.app.host": "app.localhost", "sozune.http.app.healthCheck.enabled": "false"},
	})
	s := settings("")
	s.Providers.Docker.Enabled, s.Providers.Docker.Endpoint = true, e.ServeUnix(t)
	addresses, log, _ := runIn(t, s, self)
	eventually(t, "it is ready", log, func() bool { status, _ := ready(addresses.Admin); return status == 200 })
	if p := asked[api.Providers](t, addresses.Admin, "/providers").Providers[0]; p.Phase != "ready" || p.StaleSince != nil {
		t.Errorf("before: %+v", p)
	}

	began := time.Now().Unix()
	e.Down()
	var lost api.Provider
	eventually(t, "the provider is stale", log, func() bool {
		lost = asked[api.Providers](t, addresses.Admin, "/providers").Providers[0]
		return lost.Phase == "stale"
	})
	if lost.StaleSince == nil || *lost.StaleSince < began || lost.LastError == nil || lost.Hint == nil || lost.EntrypointCount != 1 {
		t.Errorf("%+v", lost)
	}
	all := asked[[]api.Entrypoint](t, addresses.Admin, "/entrypoints")
	if len(all) != 1 || !all[0].Stale || all[0].StaleSince == nil || *all[0].StaleSince != *lost.StaleSince {
		t.Errorf("%+v", all)
	}
	if r := asked[api.Ready](t, addresses.Admin, "/ready"); r.Status != "ok" || r.Phases["docker"] != "stale" {
		t.Errorf("%+v", r)
	}

	e.Up(t)
	eventually(t, "the provider is back", log, func() bool {
		p := asked[api.Providers](t, addresses.Admin, "/providers").Providers[0]
		return p.Phase == "ready" && p.StaleSince == nil && p.LastError == nil
	})
	if all := asked[[]api.Entrypoint](t, addresses.Admin, "/entrypoints"); len(all) != 1 || all[0].Stale || all[0].StaleSince != nil {
		t.Errorf("%+v", all)
	}
	for _, want := range []string{"engine is not reachable", "engine is back"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%q is in the log %d times:\n%s", want, n, log)
		}
	}
}

// TestARefusedFileIsStale: it is connected all the while, so the time is one of its own.
func TestARefusedFileIsStale(t *testing.T) {
	s := named(t, "app")
	addresses, log, _ := run(t, s)
	eventually(t, "it is ready", log, func() bool { status, _ := ready(addresses.Admin); return status == 200 })
	began := time.Now().Unix()
	if err := os.WriteFile(s.Providers.File.Path, []byte("entrypoints: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var p api.Provider
	eventually(t, "the file is refused", log, func() bool {
		p = asked[api.Providers](t, addresses.Admin, "/providers").Providers[1]
		return p.Phase == "stale"
	})
	if !p.Connected || p.StaleSince == nil || *p.StaleSince < began || p.Hint == nil {
		t.Errorf("%+v", p)
	}
	if !answers(addresses.HTTP, "app")() {
		t.Error("the routes of then do not serve")
	}
}
