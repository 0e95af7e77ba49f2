package app

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
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

// TestOneUnreadableClaimCostsNoOrder, and no other claim.
func TestOneUnreadableClaimCostsNoOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	f, _, _ := stateAt(t, path, someOrders()...)
	f.claims.KeepClaims(someClaims())
	f.keep()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil := range [][2]string{
		{`"match": "bb",` + "\n" + `      "since": "2026`, `"match": "bb", "since": "yesterday`},
		{`"match": "aa"`, `"match": 7`}, {`"owner": "p1"`, `"owner": ["p1"]`},
	} {
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), spoil[0], spoil[1])), 0o600); err != nil {
			t.Fatal(err)
		}
		again, s, log := stateAt(t, path)
		again.restore()
		if len(s.restored) != 3 || log.Len() > 0 && strings.Contains(log.String(), "cannot be used") || len(again.claims.Claims()) == 0 {
			t.Errorf("%q: %d orders, %d claims, %s", spoil[1], len(s.restored), len(again.claims.Claims()), log)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"claims": [`, `"claims": 7, "more": [`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	again, s, _ := stateAt(t, path)
	if again.restore(); len(s.restored) != 3 {
		t.Errorf("claims that are no list cost %d orders", 3-len(s.restored))
	}
}

// TestNamesOfContainersCannotFillTheStateFile: what is written can be read, or the orders
// are lost with it.
func TestNamesOfContainersCannotFillTheStateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	claims := label.Claims{}
	for i := range 100 {
		claims[label.ClaimKey{Protocol: route.HTTP, Service: strconv.Itoa(i), Owner: strings.Repeat("p", 200<<10), Match: "aa"}] = time.Unix(int64(i), 0)
	}
	for i := range 30_000 {
		claims[label.ClaimKey{Protocol: route.HTTP, Service: strconv.Itoa(i), Owner: strings.Repeat("\x01", 900), Match: "aa"}] = time.Unix(int64(i), 0)
	}
	f, _, _ := stateAt(t, path, someOrders()...)
	f.claims.KeepClaims(claims)
	f.keep()
	again, s, log := stateAt(t, path)
	again.restore()
	kept := again.claims.Claims()
	if len(s.restored) != 3 || len(kept) < 100 || len(kept) > 5000 {
		t.Errorf("%d orders, %d claims: %s", len(s.restored), len(kept), log)
	}
	for key, since := range kept { // the oldest are kept
		if since.Unix() > 5000 || len(key.Owner) > 1000 {
			t.Fatalf("%d %s", len(key.Owner), since)
		}
	}
}

// TestStateFileThatIsAFolderIsLeftAlone: it is a mistake of the configuration, and what is
// in the folder is somebody else's.
func TestStateFileThatIsAFolderIsLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(dir, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := settings("")
	s.Providers.File.Path, s.Admin.StateFile = "", dir
	_, err := New(Config{Settings: s})
	if err == nil || !strings.Contains(err.Error(), "admin.stateFile: "+dir+" is a folder: name a file in it") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err != nil {
		t.Error(err)
	}
}
