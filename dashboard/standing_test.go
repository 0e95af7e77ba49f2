package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"fairlead/router/route"
)

// hidden is the value of a field that a form carries along.
func hidden(t *testing.T, body, name string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Data == "input" && attribute(n, "type") == "hidden" && attribute(n, "name") == name {
			return attribute(n, "value")
		}
	}
	return ""
}

// ordered sets the order in force for the i-th backend of an entrypoint.
func (k *desk) ordered(id string, i int, a route.Admin) {
	for j := range k.view.Entrypoints {
		if e := &k.view.Entrypoints[j]; e.Entrypoint.ID == id {
			e.Health.Backends[i].Admin = a
		}
	}
}

// TestAnOrderSaysWhatItReplaces before it is given, and after.
func TestAnOrderSaysWhatItReplaces(t *testing.T) {
	now := time.Now()
	k := newDesk(layersView(now))
	i := k.in("http_auth", route.StateDraining)
	ops := route.Admin{State: route.AdminDrain, Actor: "ops", Reason: "new <i>disk</i>", Since: now.Add(-12 * time.Second), ExpiresAt: now.Add(10 * time.Minute), Scope: route.ScopeBackend}
	k.ordered("http_auth", i, ops)
	words := "the drain by ops since " + clockOf(ops.Since, now) + " (new &lt;i&gt;disk&lt;/i&gt;), which was to end at " + clockOf(ops.ExpiresAt, now) + "."
	for name, verb := range map[string]string{"drain": "Replaces ", "maintenance": "Replaces ", "ready": "Ends "} {
		wants(t, k.as("anna", k.page("http_auth", i, name), nil).Body.String(), `<li class="loud"><bdi>`+verb+words)
	}
	if body := k.as("anna", k.page("http_auth", k.in("http_auth", route.StateUp), "eject"), nil).Body.String(); strings.Contains(body, "eplaces the") || hidden(t, body, "standing") != "" {
		t.Error("an ejection replaces no order")
	}
	mine := ops
	mine.Actor = "anna"
	k.ordered("http_auth", i, mine)
	if body := k.as("anna", k.page("http_auth", i, "drain"), nil).Body.String(); strings.Contains(body, `<li class="loud"><bdi>Replaces`) || !strings.Contains(body, "Replaces the drain by anna") {
		t.Error("one's own order is replaced loudly, or without a word")
	}
	// Of the other backends, for those who choose them all.
	k.ordered("http_auth", i, ops)
	wants(t, k.as("anna", k.page("http_auth", k.in("http_auth", route.StateUp), "drain"), nil).Body.String(), "If it holds for every backend, it also replaces the drain by ops since")

	w := k.as("anna", k.page("http_auth", i, "drain"), url.Values{"reason": {"x"}})
	to, err := url.Parse(w.Header().Get("Location"))
	if err != nil || w.Code != http.StatusSeeOther {
		t.Fatalf("%d %v", w.Code, err)
	}
	back := "entrypoints/http_auth?"
	wants(t, k.as("anna", back+to.RawQuery, nil).Body.String(), "It drains: ", "Replaces "+words)
	query := to.Query()
	for _, change := range []url.Values{{"said": {"Replaces nothing."}}, {"proof": {""}}, {"backend": {k.backend("http_auth", k.in("http_auth", route.StateMaintenance))}}} {
		made := url.Values{}
		for key := range query {
			made[key] = query[key]
		}
		for key := range change {
			made[key] = change[key]
		}
		if body := k.as("anna", back+made.Encode(), nil).Body.String(); strings.Contains(body, "Replaces ") {
			t.Errorf("%v is believed", change)
		}
	}
}

// TestAnOrderThatCameInBetweenIsShown: a form that was open meanwhile asks again, keeps
// what was filled in, and shows what it would replace now.
func TestAnOrderThatCameInBetweenIsShown(t *testing.T) {
	now := time.Now()
	k := newDesk(layersView(now))
	i := k.in("http_auth", route.StateUp)
	drain := k.page("http_auth", i, "drain")
	seen := hidden(t, k.as("anna", drain, nil).Body.String(), "standing")
	if seen == "" {
		t.Fatal("the form does not carry what it showed")
	}
	form := func(scope string) url.Values {
		return url.Values{"reason": {"kernel"}, "for": {"30m"}, "scope": {scope}, "standing": {seen}}
	}
	if w := k.as("anna", drain, form("service")); w.Code != http.StatusSeeOther || len(k.got) != 1 {
		t.Fatalf("nothing came in between: %d", w.Code)
	}
	other := k.in("http_auth", route.StateDraining)
	k.ordered("http_auth", other, route.Admin{State: route.AdminDrain, Actor: "ana", Since: now, Scope: route.ScopeBackend})
	if w := k.as("anna", drain, form("service")); w.Code != http.StatusConflict {
		t.Errorf("an order about another backend was replaced unseen: %d", w.Code)
	}
	if w := k.as("anna", drain, form("backend")); w.Code != http.StatusSeeOther || len(k.got) != 2 {
		t.Errorf("an order about another backend does not matter for this one: %d", w.Code)
	}
	k.ordered("http_auth", i, route.Admin{State: route.AdminMaintenance, Actor: "ana", Reason: "disk", Since: now, ExpiresAt: now.Add(time.Hour), Scope: route.ScopeBackend})
	w := k.as("anna", drain, form("backend"))
	body := w.Body.String()
	if w.Code != http.StatusConflict || len(k.got) != 2 {
		t.Errorf("%d %+v", w.Code, k.got)
	}
	wants(t, body, "Nothing was done", "in force is now the maintenance by ana", "(disk), which ends at", "Replaces the maintenance by ana", `value="kernel"`, `<option value="30m" selected>`)
	again := form("backend")
	again.Set("standing", hidden(t, body, "standing"))
	if w := k.as("anna", drain, again); w.Code != http.StatusSeeOther || len(k.got) != 3 {
		t.Errorf("asked again it is not carried out: %d", w.Code)
	}
	for name, change := range map[string]func(a *route.Admin){
		"who": func(a *route.Admin) { a.Actor = "bob" }, "why": func(a *route.Admin) { a.Reason = "x" }, "end": func(a *route.Admin) { a.ExpiresAt = time.Time{} },
		"since": func(a *route.Admin) { a.Since = now.Add(time.Millisecond) }, "scope": func(a *route.Admin) { a.Scope = route.ScopeService }, "gone": func(a *route.Admin) { a.State = route.AdminReady },
	} {
		a := route.Admin{State: route.AdminMaintenance, Actor: "ana", Reason: "disk", Since: now, ExpiresAt: now.Add(time.Hour), Scope: route.ScopeBackend}
		change(&a)
		k.ordered("http_auth", i, a)
		if w := k.as("anna", drain, again); w.Code != http.StatusConflict {
			t.Errorf("another order by its %s: %d", name, w.Code)
		}
	}
}

// TestDrainingTellsFromWhenOnItsContainerMayBeStopped.
func TestDrainingTellsFromWhenOnItsContainerMayBeStopped(t *testing.T) {
	now := time.Now()
	k := newDesk(layersView(now))
	i := k.in("http_auth", route.StateDraining)
	page := "entrypoints/http_auth?done=drain&backend=" + k.backend("http_auth", i)
	for j := range k.view.Entrypoints {
		if v := &k.view.Entrypoints[j]; v.Entrypoint.ID == "http_auth" {
			v.Entrypoint.Options.Sticky.On, v.Entrypoint.Options.DrainTimeout = true, time.Hour
			v.Health.Backends[i].Load, v.Health.Backends[i].InFlight = nil, 0
		}
	}
	k.ordered("http_auth", i, route.Admin{State: route.AdminDrain, Since: now})
	wants(t, k.as("anna", page, nil).Body.String(), "clients that a cookie binds to it may come until "+clockOf(now.Add(time.Hour), now)+". Its container may be stopped after that")
	k.ordered("http_auth", i, route.Admin{State: route.AdminDrain, Since: now.Add(-time.Hour)})
	wants(t, k.as("anna", page, nil).Body.String(), "nothing is in flight. Its container may be stopped.")
}
