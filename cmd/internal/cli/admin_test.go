package cli

import (
	"strings"
	"testing"
)

// TestCommandsKnowWhereServeListens: a variable that moves the router's admin listener
// moves what commands with the same environment ask, as in a container.
func TestCommandsKnowWhereServeListens(t *testing.T) {
	w := liveWorld(t, view(t, someVerdicts()))
	url := strings.TrimPrefix(w.env[0], "FAIRLEAD_ADMIN=")
	w.env[0] = "FAIRLEAD_ADMIN_LISTEN=" + strings.TrimPrefix(url, "http://")
	if r := w.run("route", "list"); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	w.env = append(w.env, "FAIRLEAD_ADMIN=http://127.0.0.1:1")
	if r := w.run("route", "list"); r.code != 4 {
		t.Errorf("FAIRLEAD_ADMIN does not go first: exit %d", r.code)
	}
}
