package proxy

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

func sticky(change func(*route.Sticky)) option {
	return func(e *route.Entrypoint) {
		e.Options.Sticky.On = true
		if change != nil {
			change(&e.Options.Sticky)
		}
	}
}

// stickyRig has an entrypoint with three backends that say who they are and which
// cookies they got.
func stickyRig(t *testing.T, options ...option) (*rig, *router.Entry) {
	t.Helper()
	r := newRig(t)
	var backends []string
	for _, name := range []string{"b0", "b1", "b2"} {
		backends = append(backends, serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("X-Backend", name)
			w.Header().Set("X-Cookies", strings.Join(req.Header.Values("Cookie"), "|"))
			w.Header().Add("Set-Cookie", "own=1")
		}))
	}
	entry := r.route("app.test", backends, append([]option{sticky(nil)}, options...)...)
	rot := entry.Cell.Load()
	for i := range rot.Members {
		p := rot.Members[i].Placement
		p.Sticky = r.proxy.StickyName(entry.Entrypoint, &p.Backend)
	}
	return r.start(), entry
}

// bound asks with a cookie and returns who served and the cookie that was set.
func (r *rig) bound(cookie string) (backend, set string, res *http.Response) {
	req := r.request("GET", "app.test", "/", nil)
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	res, _ = r.do(req)
	for _, c := range res.Cookies() {
		if strings.HasPrefix(c.Name, "fl_") {
			set = c.Name + "=" + c.Value
		}
	}
	return res.Header.Get("X-Backend"), set, res
}

func TestStickyClientStays(t *testing.T) {
	r, _ := stickyRig(t)
	first, cookie, res := r.bound("")
	if cookie == "" || len(res.Header.Values("Set-Cookie")) != 2 {
		t.Fatalf("Set-Cookie %q", res.Header.Values("Set-Cookie"))
	}
	for range 6 {
		if got, set, _ := r.bound("a=1; " + cookie); got != first || set != "" {
			t.Errorf("served by %s, not %s; set %q", got, first, set)
		}
	}
	got := map[string]bool{}
	for range 3 {
		backend, _, _ := r.bound("")
		got[backend] = true
	}
	if len(got) != 3 {
		t.Errorf("clients without a cookie go to %v only", got)
	}
}

// TestStickyClientMovesOnlyWhereItMust: who serves the client of b0, and whether its
// cookie is written again.
func TestStickyClientMovesOnlyWhereItMust(t *testing.T) {
	r, entry := stickyRig(t)
	all := entry.Cell.Load().Members
	name := "fl_" + hexOf(entry.Entrypoint.ID)
	for _, tt := range []struct {
		name  string
		rot   func(rot *route.Rotation)
		value string // "": that of b0
		stays bool
	}{
		{"in rotation", func(rot *route.Rotation) { rot.Members = all }, "", true},
		{"in panic", func(rot *route.Rotation) { rot.Members, rot.Panic, rot.Tier = all[:1], true, route.TierPanic }, "", true},
		{"drains", func(rot *route.Rotation) { rot.Members, rot.Sticky = all[1:], all[:1] }, "", true},
		{"all drain", func(rot *route.Rotation) { rot.Members, rot.Sticky, rot.Reason = nil, all, route.ReasonAllDraining }, "", true},
		{"in the fallback", func(rot *route.Rotation) {
			onTrial := all[1]
			onTrial.Judge = &testJudge{onTrial: true, lease: 1}
			rot.Members, rot.Fallback = []route.Member{onTrial}, []route.Member{all[0], all[2]}
		}, "", true},
		{"down", func(rot *route.Rotation) { rot.Members = all[1:] }, "", false},
		{"on trial, which is taken", func(rot *route.Rotation) {
			onTrial := all[0]
			onTrial.Judge = &testJudge{onTrial: true, lease: 1}
			rot.Members = []route.Member{onTrial, all[1]}
		}, "", false},
		{"full", func(rot *route.Rotation) {
			full := *all[0].Placement
			full.Load, full.Backend.MaxConnections = new(route.Load), 1
			full.Load.InFlight.Store(1)
			rot.Members = []route.Member{{Placement: &full, Weight: 1}, all[1]}
		}, "", false},
		{"a value of nobody", func(rot *route.Rotation) { rot.Members = all }, "AAAAAAAAAAAAAAAAAAAAAA", false},
		{"no value", func(rot *route.Rotation) { rot.Members = all }, " ", false},
	} {
		rot := &route.Rotation{Rev: 2, Tier: route.TierVerified}
		tt.rot(rot)
		entry.Cell.Store(rot)
		value := tt.value
		if value == "" {
			value = all[0].Placement.Sticky
		}
		for range 3 {
			got, set, res := r.bound(name + "=" + strings.TrimSpace(value))
			if res.StatusCode != 200 || (set == "") != tt.stays || tt.value == "" && (got == "b0") != tt.stays {
				t.Errorf("%s: served by %q with %d, set %q", tt.name, got, res.StatusCode, set)
			}
		}
	}
	entry.Cell.Store(&route.Rotation{Sticky: all[:1], Reason: route.ReasonAllDraining})
	_, _, res := r.bound("")
	wantReason(t, res, 503, route.ReasonAllDraining)
	_, _, res = r.bound(name + "=" + all[1].Placement.Sticky)
	wantReason(t, res, 503, route.ReasonAllDraining)
}

func hexOf(id string) string {
	s := newStickiness(&route.Entrypoint{ID: id, Options: route.Options{Sticky: route.Sticky{On: true}}})
	return strings.TrimPrefix(s.name, "fl_")
}

// TestRetryLeavesTheStickyBackend and tells the client.
func TestRetryLeavesTheStickyBackend(t *testing.T) {
	r, entry := stickyRig(t)
	dead := *placement(entry, 0)
	dead.Backend.Host, dead.Backend.Port = "127.0.0.1", 1
	dead.Upstream = mustOpen(t, r, dead.Backend)
	members := []route.Member{{Placement: &dead, Weight: 1}, entry.Cell.Load().Members[1]}
	entry.Cell.Store(route.NewRotation(2, route.TierVerified, members))
	_, set, res := r.bound("fl_" + hexOf(entry.Entrypoint.ID) + "=" + dead.Sticky)
	if got := res.Header.Get("X-Backend"); got != "b1" || !strings.HasSuffix(set, "="+members[1].Placement.Sticky) {
		t.Errorf("served by %q, set %q", got, set)
	}
}

func mustOpen(t *testing.T, r *rig, b route.Backend) route.Upstream {
	t.Helper()
	up, err := r.proxy.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return up
}

// TestStickyCookie: its attributes, and that backends never see it.
func TestStickyCookie(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sticky route.Sticky
		secure bool
		want   string
	}{
		{"plain", route.Sticky{On: true, SameSite: "Lax"}, false, "fl_5a8719fe=v; Path=/; HttpOnly; SameSite=Lax"},
		{"tls", route.Sticky{On: true, SameSite: "Strict"}, true, "fl_5a8719fe=v; Path=/; HttpOnly; SameSite=Strict; Secure"},
		{"all", route.Sticky{On: true, Cookie: "srv", SameSite: "None", Secure: true, MaxAge: time.Hour}, false,
			"srv=v; Path=/; Max-Age=3600; HttpOnly; SameSite=None; Secure"},
	} {
		s := newStickiness(&route.Entrypoint{ID: "http_app", Options: route.Options{Sticky: tt.sticky}})
		if got := s.cookie("v", tt.secure); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if newStickiness(&route.Entrypoint{}) != nil {
		t.Error("sticky where nobody asked for it")
	}
	s := &stickiness{name: "fl_1"}
	for _, tt := range []struct {
		sent        []string
		value, kept string
	}{
		{nil, "", ""},
		{[]string{"a=1; b=2"}, "", "a=1; b=2"},
		{[]string{"fl_1=x"}, "x", ""},
		{[]string{"a=1; fl_1=x; b=\"2;"}, "x", "a=1; b=\"2"},
		{[]string{"a=1;fl_1=x", "b=2; fl_1=y", "fl_12=z"}, "x", "a=1; b=2; fl_12=z"},
		{[]string{"fl_1=; a"}, "", "a"},
	} {
		var fields []string
		for _, line := range tt.sent {
			fields = append(fields, "Cookie", line)
		}
		x := exchangeFor(t, "app.test", "/", fields...)
		value := s.take(x)
		var kept []string
		x.Outgoing(func(name, value string) { kept = append(kept, value) })
		if value != tt.value || strings.Join(kept, "|") != tt.kept {
			t.Errorf("%q: value %q, the backend gets %q", tt.sent, value, kept)
		}
	}
}

// TestStickyNames: opaque, the same for the same key and backend, and different else.
func TestStickyNames(t *testing.T) {
	on := route.Entrypoint{ID: "http_app", Options: route.Options{Sticky: route.Sticky{On: true}}}
	b := route.Backend{ID: "abc", Host: "192.0.2.7", Port: 8080, Incarnation: "1"}
	key := []byte("0123456789abcdef")
	p := New(Config{StickyKey: key, Log: zerolog.Nop()})
	name := p.StickyName(&on, &b)
	if len(name) != 22 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		t.Errorf("name %q", name)
	}
	restarted := b
	restarted.Incarnation = "2"
	if p.StickyName(&on, &restarted) != name || New(Config{StickyKey: key}).StickyName(&on, &b) != name {
		t.Error("the same backend has another name")
	}
	if one, two := New(Config{}), New(Config{}); one.StickyName(&on, &b) == two.StickyName(&on, &b) {
		t.Error("two routers without a key agree")
	}
	moved, other, elsewhere := b, b, on
	moved.Port++
	other.ID = "abd"
	elsewhere.ID = "http_app2"
	for _, got := range []string{p.StickyName(&on, &moved), p.StickyName(&on, &other), p.StickyName(&elsewhere, &b)} {
		if got == name {
			t.Error("another backend has the same name")
		}
	}
	if off := (route.Entrypoint{ID: "http_app"}); p.StickyName(&off, &b) != "" {
		t.Error("a name where sticky sessions are off")
	}
}
