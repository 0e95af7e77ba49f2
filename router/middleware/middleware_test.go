package middleware

import (
	"fmt"
	"testing"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/route"
)

func edits(list []exchange.Edit) string {
	text := ""
	for _, e := range list {
		text += fmt.Sprintf("%d %s=%s;", e.Op, e.Name, e.Value)
	}
	return text
}

func TestHeaderRules(t *testing.T) {
	e := &route.Entrypoint{Options: route.Options{Headers: []route.HeaderRule{
		{Name: "X-Req", Value: "1", Direction: route.OnRequest},
		{Name: "X-Res", Value: "2", Direction: route.OnResponse},
		{Name: "X-Both", Value: "3", Direction: route.OnBoth},
		{Name: "X-Gone", Direction: route.OnBoth},
	}}}
	x := &exchange.Exchange{}
	if reason := For(e).Before(x); reason != route.ReasonNone {
		t.Fatal(reason)
	}
	if got := edits(x.Edits); got != "0 X-Req=1;0 X-Both=3;1 X-Gone=;" {
		t.Errorf("request: %s", got)
	}
	if got := edits(x.ResponseEdits); got != "0 X-Res=2;0 X-Both=3;1 X-Gone=;" {
		t.Errorf("response: %s", got)
	}
}

func TestRewrite(t *testing.T) {
	for _, tt := range []struct {
		name          string
		options       route.Options
		prefix, outer string
		path          string
		forward       string
		edits         string
		reason        route.Reason
	}{
		{name: "strip", options: route.Options{StripPrefix: true}, prefix: "/api", path: "/api/x%2Fy", forward: "/x%2Fy", edits: "0 X-Forwarded-Prefix=/api;"},
		{name: "strip after a proxy that stripped", options: route.Options{StripPrefix: true}, prefix: "/api", outer: "/outer", path: "/api", forward: "/", edits: "0 X-Forwarded-Prefix=/outer/api;"},
		{name: "nothing to strip", options: route.Options{StripPrefix: true}, path: "/api", forward: "/api"},
		{name: "add", options: route.Options{AddPrefix: "/base"}, path: "/x", forward: "/base/x"},
		{name: "both: add alone", options: route.Options{StripPrefix: true, AddPrefix: "/base"}, prefix: "/api", path: "/api/x", forward: "/base/api/x"},
		{name: "not under the prefix", options: route.Options{StripPrefix: true}, prefix: "/api", path: "/other", reason: route.ReasonBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := &exchange.Exchange{Path: router.Path{Match: tt.path, Forward: tt.path}, Prefix: tt.outer, Route: &router.Route{Prefix: tt.prefix}}
			reason := For(&route.Entrypoint{Options: tt.options}).Before(x)
			if reason != tt.reason || reason == route.ReasonNone && x.Path.Forward != tt.forward {
				t.Errorf("%q %q", reason, x.Path.Forward)
			}
			if got := edits(x.Edits); reason == route.ReasonNone && got != tt.edits {
				t.Errorf("edits %q, want %q", got, tt.edits)
			}
		})
	}
}

func TestNoFiltersWithoutOptions(t *testing.T) {
	o := route.DefaultOptions()
	if c := For(&route.Entrypoint{Options: o}); len(c) != 0 {
		t.Errorf("%d filters", len(c))
	}
}

// refusing is a filter that refuses.
type refusing struct{}

func (refusing) Before(*exchange.Exchange) route.Reason { return route.ReasonDenied }

func TestChainEndsAtTheFirstRefusal(t *testing.T) {
	after := &headers{request: []exchange.Edit{{Name: "X-After"}}}
	x := &exchange.Exchange{}
	if reason := (Chain{refusing{}, after}).Before(x); reason != route.ReasonDenied || len(x.Edits) != 0 {
		t.Errorf("%s, %d edits", reason, len(x.Edits))
	}
}
