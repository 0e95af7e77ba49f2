package api

import (
	"net/url"
	"strings"
	"testing"

	"fairlead/router"
	"fairlead/router/route"
)

func TestSearchIgnoresCaseInEveryAlphabet(t *testing.T) {
	v := &router.EntrypointView{Entrypoint: &route.Entrypoint{ID: "http_BÜCHER", Name: "Ärzte", Project: "Straße", Match: route.Match{Path: route.PathRule{Value: "/Ä"}}}}
	for q, want := range map[string]bool{"bücher": true, "BÜCHER": true, "ärzte straße": true, "/ä": true, "arzte": false, "bücherärzte": false} {
		f, err := newFilter(url.Values{"q": {q}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the room for the text is used again
			if got := f.matches(v); got != want {
				t.Errorf("%s: %v", q, got)
			}
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	e := &route.Entrypoint{ID: "http_shop", Name: "shop", Project: "team-shop", Match: route.Match{Path: route.PathRule{Value: "/"}}}
	for range 3 {
		e.Backends = append(e.Backends, route.Backend{ID: strings.Repeat("a", 40), Host: "172.18.0.4", Port: 8080})
	}
	v := &router.EntrypointView{Entrypoint: e}
	f, _ := newFilter(url.Values{"q": {"shop 172.19"}})
	f.matches(v)
	b.ReportAllocs()
	for b.Loop() {
		f.matches(v)
	}
}
