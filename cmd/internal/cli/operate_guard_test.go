package cli

import (
	"errors"
	"strings"
	"testing"

	"fairlead/api"
	"fairlead/api/client"
	"fairlead/router/route"
)

// TestChooseBackendByTheStrongerWord: an id before a name, a whole name before a beginning,
// and no beginning of fewer than four letters.
func TestChooseBackendByTheStrongerWord(t *testing.T) {
	first, second := "bbbb00000002", "aaaa"
	list := []api.BackendHealth{
		{ID: "aaaa00000001", Address: "10.0.0.1:80", Name: &first},
		{ID: "bbbb00000002", Address: "10.0.0.2:80", Name: &second},
		{ID: "aaaa00000003", Address: "10.0.0.3:80", Container: &api.Container{ID: "cccc", Name: "other"}},
	}
	for word, want := range map[string]string{"bbbb00000002": "bbbb00000002", "aaaa": "bbbb00000002", "cccc": "aaaa00000003", "bbbb0": "bbbb00000002"} {
		if b, err := chooseBackend(&api.Entrypoint{ID: "http_a", BackendHealth: list}, word, oneOnly); err != nil || b.ID != want {
			t.Errorf("%s: %v %v, want %s", word, b, err, want)
		}
	}
	if b, err := chooseBackend(&api.Entrypoint{ID: "http_a", BackendHealth: list}, "bbb", oneOnly); err == nil {
		t.Errorf("three letters: %s", b.ID)
	}
}

// TestOrderFlagsAreThoseThatMeanSomething for it.
func TestOrderFlagsAreThoseThatMeanSomething(t *testing.T) {
	w, p := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e", "77bb00112233")
	for action, flags := range map[string]string{"ready": "--for=1m --force", "uneject": "--for=1m --force --all", "eject": "--all"} {
		for flag := range strings.FieldsSeq(flags) {
			if r := w.run(action, "http_api", "3f2a9c0d1b7e", flag); r.code != exitUsage || !strings.Contains(r.err, "unknown flag") {
				t.Errorf("%s %s: %d %s", action, flag, r.code, r.all())
			}
		}
	}
	if len(p.engine.Orders()) != 0 {
		t.Errorf("%+v", p.engine.Orders())
	}
}

// TestTunnelsAreInFlight: a container with an open WebSocket may not be stopped yet.
func TestTunnelsAreInFlight(t *testing.T) {
	w, p := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e", "77bb00112233")
	p.set.Placements[0].Load.Tunnels.Store(2)
	if r := w.run("drain", "http_api", "3f2a9c0d1b7e"); !strings.Contains(r.out, "In flight now: 0 requests and 2 tunnels.") || strings.Contains(r.out, "may be stopped") {
		t.Errorf("%s", r.out)
	}
}

// TestOrderAboutWhatHasJustLeft is wrong usage, not a fault of the router.
func TestOrderAboutWhatHasJustLeft(t *testing.T) {
	err := orderFailed(&client.StatusError{Status: 404, Code: api.CodeNotFound, Message: "no backend \x1b[1mx"}, route.OrderDrain)
	if f, ok := errors.AsType[*failure](err); !ok || f.code != exitUsage || !strings.Contains(f.fix, "left a moment ago") || strings.Contains(f.message, "\x1b") {
		t.Errorf("%+v", err)
	}
}
