package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// archive is a Historian.
type archive map[[2]string][]route.Transition

func (a archive) History(entrypoint, backend string) ([]route.Transition, bool) {
	list, ok := a[[2]string{entrypoint, backend}]
	return list, ok
}

// TestHistoryOfWhatIsGone: the history of a removed backend, or of one of a removed
// entrypoint, is answered as long as somebody remembers it; who and why stand in it.
func TestHistoryOfWhatIsGone(t *testing.T) {
	gone := []route.Transition{
		{At: ago(60), Rev: 3, From: "up", To: "draining", Cause: "operator", Layer: "admin", Actor: "ops", Reason: "new kernel"},
		{At: ago(1), Rev: 4, From: "draining", To: "leaving", Cause: "provider", Layer: "provider", Kind: route.KindLeaving},
	}
	s := New(Config{Viewer: fixed{richView()}, Log: zerolog.Nop(), History: archive{
		{"http_api", "removed"}: gone, {"http_gone_for_good", "removed"}: gone,
	}})
	sick := panicView().Health.Backends[0]
	schema := compile(t, "backend_health.schema.json#/$defs/transition")
	for path, want := range map[string]int{
		"/entrypoints/http_api/backends/removed/history":                  2,
		"/entrypoints/http_gone_for_good/backends/removed/history":        2,
		"/entrypoints/http_sick/backends/" + sick.Backend.ID + "/history": len(sick.History), // nobody else knows it
		"/entrypoints/http_api/backends/never/history":                    -1,
		"/entrypoints/http_never/backends/removed/history":                -1,
	} {
		w := get(s, path)
		if want < 0 {
			if w.Code != http.StatusNotFound {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			continue
		}
		validate(t, schema, w.Body.Bytes())
		var list []Transition
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK || len(list) != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if path == "/entrypoints/http_api/backends/removed/history" && (list[0].Actor == nil || *list[0].Actor != "ops" || *list[0].Reason != "new kernel" || list[1].Actor != nil) {
			t.Errorf("%s", w.Body)
		}
	}
}
