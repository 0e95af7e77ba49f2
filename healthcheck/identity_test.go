package healthcheck

import (
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestCheckIdentity: what makes two checks one stream, and what does not.
func TestCheckIdentity(t *testing.T) {
	seed := maphash.MakeSeed()
	key := func(edit ...func(*route.Backend)) checkKey {
		b := backend("b1", "10.0.0.1", append([]func(*route.Backend){httpCheck("/health"), checked(func(c *route.Check) {
			c.Headers = []route.CheckHeader{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
		})}, edit...)...)
		c := normalized(*b.Check, &b)
		return keyOf(seed, &c, &b)
	}
	header := func(list ...route.CheckHeader) func(*route.Backend) {
		return checked(func(c *route.Check) { c.Headers = list })
	}
	base := key()
	for name, edit := range map[string]func(*route.Backend){
		"thresholds":   checked(func(c *route.Check) { c.UnhealthyThreshold, c.HealthyThreshold = 7, 8 }),
		"initial":      checked(func(c *route.Check) { c.Initial = route.InitialDown }),
		"weight":       func(b *route.Backend) { b.Weight = 1 },
		"Docker":       func(b *route.Backend) { b.Provider = route.ProviderStarting },
		"traffic port": func(b *route.Backend) { b.Port = 99 },
	} {
		if key(edit) != base {
			t.Errorf("%s makes another check", name)
		}
	}
	ids := map[string]string{publicID(&base): "the first one"}
	for name, edit := range map[string]func(*route.Backend){
		"incarnation":   func(b *route.Backend) { b.Incarnation += "+" },
		"path":          httpCheck("/other"),
		"port":          checked(func(c *route.Check) { c.Port = 81 }),
		"method":        checked(func(c *route.Check) { c.Method = "HEAD" }),
		"host":          checked(func(c *route.Check) { c.Host = "app.test" }),
		"status":        checked(func(c *route.Check) { c.Status, _ = route.ParseStatusSet("200") }),
		"scheme":        checked(func(c *route.Check) { c.Scheme = route.SchemeHTTPS }),
		"interval":      checked(func(c *route.Check) { c.Interval = time.Minute }),
		"timeout":       checked(func(c *route.Check) { c.Timeout = time.Second }),
		"jitter":        checked(func(c *route.Check) { c.Jitter = 5 }),
		"initial delay": checked(func(c *route.Check) { c.InitialDelay = time.Second }),
		"redirects":     checked(func(c *route.Check) { c.FollowRedirects = true }),
		"contains":      checked(func(c *route.Check) { c.BodyContains = "x" }),
		"regex":         checked(func(c *route.Check) { c.BodyRegex = "x" }),
		"tls":           checked(func(c *route.Check) { c.Type = route.ProbeTLS }),
		"tls, https": func(b *route.Backend) {
			checked(func(c *route.Check) { c.Type = route.ProbeTLS })(b)
			b.Scheme = route.SchemeHTTPS
		},
		"grpc":      checked(func(c *route.Check) { c.Type = route.ProbeGRPC }),
		"websocket": checked(func(c *route.Check) { c.Type = route.ProbeWebSocket }),
	} {
		k := key(edit)
		if k == base {
			t.Errorf("%s does not make another check", name)
		}
		id := publicID(&k)
		if ids[id] != "" {
			t.Errorf("%s has the id of %s", name, ids[id])
		}
		ids[id] = name
	}
	for _, edit := range []func(*route.Backend){
		header(), header(route.CheckHeader{Name: "A", Value: "1"}), header(route.CheckHeader{Name: "A", Value: "12"}, route.CheckHeader{Name: "B", Value: ""}),
		header(route.CheckHeader{Name: "A", Value: "9"}, route.CheckHeader{Name: "B", Value: "2"}),
	} {
		if k := key(edit); k == base || publicID(&k) != publicID(&base) {
			t.Error("header values belong to the identity, and not to the public id")
		}
	}
	if c := normalized(route.Check{}, &route.Backend{Port: 8080}); c.Type != route.ProbeTCP || c.Port != 8080 || c.Timeout != 5*time.Second || c.UnhealthyThreshold != 1 {
		t.Errorf("an empty check becomes %+v", c)
	}
	if c := normalized(route.Check{Type: route.ProbeHTTP}, &route.Backend{Host: "fd00::5", Port: 443, Scheme: route.SchemeHTTPS}); c.Host != "[fd00::5]" || c.Scheme != route.SchemeHTTPS || c.Path != "/" {
		t.Errorf("an empty HTTP check becomes %+v", c)
	}
}

// TestPublicIDsDiffer: checks that differ only in what is secret have ids of their own.
func TestPublicIDsDiffer(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		var sets []route.PlacementSet
		for i := range 12 {
			sets = append(sets, r.set(fmt.Sprint("http_", i), backend("b1", "10.0.0.1", httpCheck(fmt.Sprint("/?token=", i)))))
		}
		r.apply(sets...)
		var ids []string
		for _, c := range r.engine.View().Checks {
			ids = append(ids, c.ID)
			if strings.ContainsAny(c.Check.Path, "0123456789") {
				t.Errorf("the path shows its query: %s", c.Check.Path)
			}
		}
		if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 12 {
			t.Errorf("ids %v", ids)
		}
	})
}

func TestRedactQuery(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "/a?": "/a?", "/a?b": "/a?***", "/a?b=c": "/a?b=***", "/a?b=c&d=e=f&g": "/a?b=***&d=***&***", "/a?b=c?d=e": "/a?b=***",
	} {
		if got := redactQuery(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestDetectionBound holds the published table.
func TestDetectionBound(t *testing.T) {
	s := time.Second
	check := func(u int, fast, timeout time.Duration) *route.Check {
		return &route.Check{Interval: 10 * s, FastInterval: fast, DownInterval: 10 * s, Timeout: timeout, Jitter: 10, UnhealthyThreshold: u}
	}
	for _, tt := range []struct {
		name  string
		check *route.Check
		want  time.Duration
	}{
		{"3/2, refused", check(3, s, 0), 14 * s},
		{"3/2, black hole", check(3, s, 5*s), 29 * s},
		{"1/1, refused", check(1, 0, 0), 12 * s},
		{"1/1, black hole", check(1, 0, 5*s), 17 * s},
		{"interval below the tick", &route.Check{Interval: 200 * time.Millisecond, Timeout: 200 * time.Millisecond, UnhealthyThreshold: 1}, 2200 * time.Millisecond},
		{"timeout above the interval", &route.Check{Interval: 2 * s, Timeout: 7 * s, UnhealthyThreshold: 2}, 23 * s},
		{"3/2 without a fast interval", check(3, 0, 5*s), 39 * s},
	} {
		if got := detectionBound(tt.check, s); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestDefaults: the zero configuration is the documented one.
func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	if c.Tick != time.Second || c.StartupSpread != time.Second || c.Concurrency != 256 || c.PerHost != 8 || c.Version == "" {
		t.Errorf("%+v", c)
	}
	if addrs, err := c.Resolve(t.Context(), "127.0.0.1"); err != nil || len(addrs) != 1 {
		t.Errorf("%v %v", addrs, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := c.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// TestKinds: every kind has words, and errors are written in one line.
func TestKinds(t *testing.T) {
	seen := map[route.Kind]bool{}
	for _, k := range Kinds() {
		if seen[k.Kind] || k.Title == "" || !strings.HasSuffix(k.Meaning, ".") {
			t.Errorf("%+v", k)
		}
		seen[k.Kind] = true
	}
	for _, e := range errnos {
		if !seen[e.kind] {
			t.Errorf("%s has no words", e.kind)
		}
	}
	if title(route.KindTimeout) != "timeout" || title("new_kind") != "new_kind" {
		t.Error("titles")
	}
	if got := plain(errors.New("a\r\nb" + strings.Repeat("é", 200))); strings.ContainsAny(got, "\r\n") || len(got) > 204 {
		t.Errorf("%q", got)
	}
	if v := classify(errors.New("odd"), phaseRead); v.kind != route.KindHTTPError {
		t.Errorf("%+v", v)
	}
	if v := classify(errors.New("odd"), phaseTLS); v.kind != route.KindTLSFailure || validity(nil) != "" || certificateNames(nil) != "" {
		t.Errorf("%+v", v)
	}
	if v := classify(syscall.EPIPE, phaseWrite); v.kind != route.KindConnectionReset {
		t.Errorf("%+v", v)
	}
}
