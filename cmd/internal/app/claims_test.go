package app

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead/provider/label"
	"fairlead/router/route"
)

func someClaims() label.Claims {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	return label.Claims{
		{Protocol: route.HTTP, Service: "web", Owner: "p1", ComposeService: "app", Match: "aa"}: at,
		{Protocol: route.TCP, Service: "db", Owner: "@docker", Match: "bb"}:                     at.Add(time.Hour),
	}
}

// TestStateFileKeepsClaims beside the orders; a file of an earlier version has none, and
// what cannot be one costs nothing else.
func TestStateFileKeepsClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	f, _, _ := stateAt(t, path, someOrders()...)
	f.keep()
	old, s, _ := stateAt(t, path)
	if old.restore(); old.claims.Claims() != nil || len(s.restored) != 3 {
		t.Errorf("%v %v", old.claims.Claims(), s.restored)
	}
	old.claims.KeepClaims(someClaims())
	select {
	case <-old.claims.changed:
	default:
		t.Error("no signal to write")
	}
	old.keep()
	again, s, _ := stateAt(t, path)
	if again.restore(); !maps.Equal(again.claims.Claims(), someClaims()) || len(s.restored) != 3 {
		t.Errorf("%v %v", again.claims.Claims(), s.restored)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := strings.ReplaceAll(string(text), `"match": "aa"`, `"match": ""`)
	if err := os.WriteFile(path, []byte(spoiled), 0o600); err != nil {
		t.Fatal(err)
	}
	last, s, _ := stateAt(t, path)
	if last.restore(); len(last.claims.Claims()) != 1 || len(s.restored) != 3 {
		t.Errorf("%v %v", last.claims.Claims(), s.restored)
	}
}
