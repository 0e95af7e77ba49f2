package cli

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/healthcheck"
	"fairlead/router"
	"fairlead/router/route"
)

// shaOfPassword is the hash of the word "password".
const shaOfPassword = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"

// enginePlace is a router of an engine and one entrypoint, http_api: what is ordered
// shows in what is read.
type enginePlace struct {
	engine *healthcheck.Engine
	set    route.PlacementSet
}

// View implements router.Viewer.
func (p *enginePlace) View() *router.View {
	health := p.engine.View()
	return &router.View{Health: health, Entrypoints: []router.EntrypointView{{Entrypoint: p.set.Entrypoint, Health: health.Entrypoints["http_api"]}}}
}

// orderWorld is one with a router that takes orders of the user ops. Its backends are not
// probed, so that everything stands still.
func orderWorld(t *testing.T, role api.Role, ids ...string) (*world, *enginePlace) {
	t.Helper()
	p := &enginePlace{engine: healthcheck.New(healthcheck.Config{Log: zerolog.Nop()})}
	e := &route.Entrypoint{ID: "http_api", Name: "api", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
	p.set = route.PlacementSet{Entrypoint: e, Cell: &route.RotationCell{}}
	for i, id := range ids {
		b := route.Backend{
			ID: id, Name: "shop-api-" + string(rune('1'+i)), Container: &route.Container{ID: id + id, Name: "shop-api-" + string(rune('1'+i))},
			Incarnation: id, Host: "10.0.0." + string(rune('5'+i)), Port: 8080, Scheme: route.SchemeHTTP, Weight: 100, Provider: route.ProviderPresent,
		}
		e.Backends = append(e.Backends, b)
		p.set.Placements = append(p.set.Placements, &route.Placement{Entrypoint: e.ID, Backend: b, Load: &route.Load{}})
	}
	p.engine.Apply(1, []route.PlacementSet{p.set})
	server := httptest.NewServer(api.New(api.Config{
		Viewer: p, Operator: p.engine, Log: zerolog.Nop(), Users: []api.User{{Name: "ops", Role: role, PasswordHash: shaOfPassword}},
	}).Handler())
	t.Cleanup(server.Close)
	return &world{t: t, env: []string{
		"FAIRLEAD_ADMIN=" + server.URL, "CONFIG_PATH=" + empty(t), "FAIRLEAD_USER=ops", "FAIRLEAD_PASSWORD=password",
	}}, p
}

func TestOrderGoldens(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string // the last run's
		code int
		pre  []string
	}{
		{"order-drain", []string{"drain", "http_api", "shop-api-1", "--reason", "kernel update"}, 0, nil},
		{"order-drain-last", []string{"drain", "http_api", "shop-api-2"}, 2, []string{"drain", "api", "3f2a9c0d1b7e"}},
		{"order-maintenance-all", []string{"maintenance", "http_api", "--all", "--force"}, 0, nil},
		{"order-ready", []string{"ready", "http_api", "10.0.0.5:8080"}, 0, []string{"maintenance", "http_api", "3f2a9c"}},
		{"order-eject-off", []string{"eject", "http_api", "shop-api-1"}, 2, nil},
		{"order-misspelt", []string{"drain", "http_api", "shop-api-3"}, 3, nil},
		{"order-which", []string{"drain", "http_api"}, 3, nil},
		{"order-unknown", []string{"drain", "http_ap", "x"}, 3, nil},
		{"order-for", []string{"drain", "http_api", "shop-api-1", "--for", "soon"}, 3, nil},
		{"order-both", []string{"drain", "http_api", "shop-api-1", "--all"}, 3, nil},
		{"help-drain", []string{"drain", "--help"}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e", "77bb00112233")
			if c.pre != nil {
				if r := w.run(c.pre...); r.code != 0 {
					t.Fatalf("%v: %s", c.pre, r.all())
				}
			}
			r := w.run(c.args...)
			if r.code != c.code {
				t.Errorf("exit %d, want %d", r.code, c.code)
			}
			w.golden(c.name, r)
		})
	}
}

// TestOrderIsCarriedOut with all that the flags say, and told in JSON.
func TestOrderIsCarriedOut(t *testing.T) {
	w, p := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e", "77bb00112233")
	r := w.run("drain", "http_api", "3f2a9c0d1b7e", "--reason", "kernel", "--for", "30m", "--json")
	var b api.BackendHealth
	if err := json.Unmarshal([]byte(r.out), &b); err != nil || r.code != 0 || b.State != "draining" || b.Admin.Actor == nil || *b.Admin.Actor != "ops" {
		t.Fatalf("%d %v %s", r.code, err, r.all())
	}
	if o := p.engine.Orders(); len(o) != 1 || o[0].Admin.Reason != "kernel" || o[0].Admin.ExpiresAt.Sub(o[0].Admin.Since) != 30*time.Minute {
		t.Errorf("%+v", o)
	}
	r = w.run("drain", "http_api", "--all", "--force", "--json")
	var list []api.BackendHealth
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) != 2 || len(p.set.Cell.Load().Members) != 0 {
		t.Fatalf("%d %v %s", r.code, err, r.all())
	}
	if r = w.run("ready", "http_api", "--all"); r.code != 0 || len(p.engine.Orders()) != 0 || len(p.set.Cell.Load().Members) != 2 {
		t.Errorf("%d %s", r.code, r.all())
	}
}

// TestOrderNeedsTheRole: exit 2, and what to do.
func TestOrderNeedsTheRole(t *testing.T) {
	w, p := orderWorld(t, api.RoleReadOnly, "3f2a9c0d1b7e", "77bb00112233")
	if r := w.run("drain", "http_api", "3f2a9c0d1b7e"); r.code != exitRefused || !strings.Contains(r.err, "role admin") || len(p.engine.Orders()) != 0 {
		t.Errorf("%d %s", r.code, r.all())
	}
	nobody := &world{t: t, env: []string{"FAIRLEAD_ADMIN=http://127.0.0.1:1", "CONFIG_PATH=" + empty(t)}}
	for _, command := range []string{"drain", "maintenance", "ready", "eject", "uneject"} {
		if r := nobody.run(command, "http_api", "x"); r.code != exitUnreachable {
			t.Errorf("%s: %d %s", command, r.code, r.all())
		}
		if r := nobody.run(command); r.code != exitUsage {
			t.Errorf("%s alone: %d", command, r.code)
		}
	}
}

// TestOrderSaysWhatIsInFlight there, so that people know when a container may be stopped.
func TestOrderSaysWhatIsInFlight(t *testing.T) {
	w, p := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e", "77bb00112233")
	p.set.Placements[0].Load.InFlight.Store(3)
	p.set.Placements[0].Load.Tunnels.Store(1)
	r := w.run("drain", "http_api", "3f2a9c0d1b7e")
	if !strings.Contains(r.out, "In flight now: 3 requests and 1 tunnel.") || strings.Contains(r.out, "may be stopped") {
		t.Errorf("%s", r.out)
	}
}

func TestChooseBackend(t *testing.T) {
	name := "web"
	list := []api.BackendHealth{
		{ID: "aaaa00000001", Address: "10.0.0.1:80", Container: &api.Container{ID: "aaaa000000011111", Name: "shop-web-1"}},
		{ID: "aaaa00000002", Address: "10.0.0.2:80", Container: &api.Container{ID: "aaaa000000022222", Name: "shop-web-2"}},
		{ID: "10.0.0.3:80", Address: "10.0.0.3:80", Name: &name},
		{ID: "10.0.0.4:80", Address: "10.0.0.4:80", Name: &name},
	}
	for word, want := range map[string]string{
		"aaaa00000001": "aaaa00000001", "aaaa00000002": "aaaa00000002", "shop-web-2": "aaaa00000002", "10.0.0.1:80": "aaaa00000001",
		"aaaa000000011111": "aaaa00000001", "10.0.0.3:80": "10.0.0.3:80",
		"aaaa0000000": "name one by its id: shop-web-1 (aaaa00000001), shop-web-2 (aaaa00000002)", "web": "name one by its id: web (10.0.0.3:80), web (10.0.0.4:80)",
		"shop-wbe-1": "did you mean shop-web-1 (aaaa00000001)?", "zzz": "its backends are", "": "name one, or say --all",
	} {
		b, err := chooseBackend(&api.Entrypoint{ID: "http_a", BackendHealth: list}, word, mayAskEvery)
		if err == nil && b.ID != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v, want %s", word, b, err, want)
		}
	}
	if b, err := chooseBackend(&api.Entrypoint{BackendHealth: slices.Clone(list[:1])}, "", oneOnly); err != nil || b.ID != "aaaa00000001" {
		t.Errorf("the only one: %v %v", b, err)
	}
	if _, err := chooseBackend(&api.Entrypoint{ID: "http_a"}, "x", asksEvery); err == nil {
		t.Error("one of none")
	}
}

// TestOneOfSeveralIsAskedForByWhatTheCommandHas: --all is proposed by those alone that
// have it.
func TestOneOfSeveralIsAskedForByWhatTheCommandHas(t *testing.T) {
	w := liveWorld(t, view(t, someVerdicts()))
	for _, name := range []string{"drain", "maintenance", "ready", "eject", "uneject"} {
		cmd, _, err := Tree().Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		r := w.run(name, "http_api")
		if has := cmd.Flags().Lookup("all") != nil; r.code != 3 || !strings.Contains(r.err, "name one") || strings.Contains(r.err, "--all") != has {
			t.Errorf("%s (--all: %t): exit %d\n%s", name, has, r.code, r.err)
		}
	}
}
