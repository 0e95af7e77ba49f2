package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// Hashes of canary, by crypt(3) and sha256sum; the cost is the least that there is.
const (
	bcryptOfCanary = "$2y$04$abcdefghijklmnopqrstuue8Fm1J3Asb5A8g26yuxIX4xjq3JO2om"
	shaOfCanary    = "0de6e984350f90c6ba8655ebd22f171f996d77b104dc83f2e1b9d0b3f803e886"
)

// house is a server with users, and its log.
type house struct {
	*Server
	log bytes.Buffer
}

func newHouse(change func(*Config)) *house {
	h := &house{}
	cfg := Config{
		Viewer: fixed{richView()}, Log: zerolog.New(&h.log), Hosts: []string{"router.example"}, Users: []User{
			{Name: "ops", Role: RoleAdmin, PasswordHash: bcryptOfCanary},
			{Name: "watch", Role: RoleReadOnly, PasswordHash: shaOfCanary},
		},
	}
	if change != nil {
		change(&cfg)
	}
	h.Server = New(cfg)
	h.routes = append(h.routes, endpoint{path: "/admin", need: RoleAdmin, handle: h.me})
	return h
}

// from asks from an address.
func (h *house) from(peer, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "router.example", peer
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	return w
}

func basic(name, password string) []string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(name, password)
	return []string{"Authorization", r.Header.Get("Authorization")}
}

const far = "203.0.113.7:40000"

func TestBasic(t *testing.T) {
	for _, c := range []struct {
		name      string
		path      string
		header    []string
		anonymous bool
		status    int
		me        string
	}{
		{"admin", "/admin", basic("ops", canary), false, 200, "ops admin"},
		{"reader", "/me", basic("watch", canary), false, 200, "watch read-only"},
		{"reader at an admin's path", "/admin", basic("watch", canary), false, 403, ""},
		{"wrong password", "/me", basic("ops", canary+"x"), false, 401, ""},
		{"no password", "/me", basic("ops", ""), false, 401, ""},
		{"the hash itself", "/me", basic("watch", shaOfCanary), false, 401, ""},
		{"unknown name", "/me", basic("root", canary), false, 401, ""},
		{"empty name", "/me", basic("", canary), false, 401, ""},
		{"capitals", "/me", basic("Ops", canary), false, 401, ""},
		{"nobody", "/me", nil, false, 401, ""},
		{"nobody, unknown path", "/nothing", nil, false, 401, ""},
		{"a token", "/me", []string{"Authorization", "Bearer " + canary}, false, 401, ""},
		{"a token where anybody may read", "/me", []string{"Authorization", "Bearer " + canary}, true, 401, ""},
		{"broken", "/me", []string{"Authorization", "Basic !!"}, false, 401, ""},
		{"huge password", "/me", basic("ops", strings.Repeat("a", MaxPassword+1)), false, 401, ""},
		{"anonymous", "/me", nil, true, 200, "anonymous read-only"},
		{"anonymous at an admin's path", "/admin", nil, true, 403, ""},
		{"wrong password is not anonymous", "/me", basic("ops", "x"), true, 401, ""},
		{"forged cookie", "/me", []string{"Cookie", cookieName + "=AAAA"}, false, 401, ""},
		{"open path", "/healthy", nil, false, 200, ""},
		{"open path", "/ready", nil, false, 200, ""},
	} {
		h := newHouse(func(cfg *Config) { cfg.Anonymous = c.anonymous })
		w := h.from(far, "GET", c.path, "", c.header...)
		if w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.status)
			continue
		}
		asked := strings.HasPrefix(w.Header().Get("WWW-Authenticate"), `Basic realm="fairlead"`)
		if c.name != "forged cookie" && asked != (c.status == 401) {
			t.Errorf("%s: WWW-Authenticate %q", c.name, w.Header().Get("WWW-Authenticate"))
		}
		var me Me
		if _ = json.Unmarshal(w.Body.Bytes(), &me); c.me != "" && me.Name+" "+me.Role != c.me {
			t.Errorf("%s: %+v", c.name, me)
		}
		if all := w.Body.String() + h.log.String() + fmt.Sprint(w.Header()); strings.Contains(all, canary) || strings.Contains(all, "root") {
			t.Errorf("%s shows what was sent: %s", c.name, all)
		}
	}
}

// TestLoopbackIsNobodySpecialWithUsers: whoever reaches the port through the machine
// itself must log in too.
func TestLoopbackIsNobodySpecialWithUsers(t *testing.T) {
	h := newHouse(nil)
	if w := h.from(here, "GET", "/entrypoints", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("%d", w.Code)
	}
}

// TestAdministrationNeedsAUser: without users nobody may, not even on this machine.
func TestAdministrationNeedsAUser(t *testing.T) {
	for _, anonymous := range []bool{false, true} {
		h := newHouse(func(cfg *Config) { cfg.Users, cfg.Anonymous = nil, anonymous })
		w := h.from(here, "GET", "/admin", "")
		if e := decodeError(t, w.Body.Bytes()); w.Code != http.StatusForbidden || !strings.Contains(e.Message, "admin.users") {
			t.Errorf("anonymous %t: %d %+v", anonymous, w.Code, e)
		}
	}
}

func TestUsersThatAreRefused(t *testing.T) {
	for _, u := range []User{
		{Role: RoleAdmin, PasswordHash: shaOfCanary},
		{Name: "a:b", Role: RoleAdmin, PasswordHash: shaOfCanary},
		{Name: "a\n", Role: RoleAdmin, PasswordHash: shaOfCanary},
		{Name: " a", Role: RoleAdmin, PasswordHash: shaOfCanary},
		{Name: Anonymous, Role: RoleAdmin, PasswordHash: shaOfCanary},
		{Name: strings.Repeat("a", MaxUserName+1), Role: RoleAdmin, PasswordHash: shaOfCanary},
		{Name: "ops", Role: "root", PasswordHash: shaOfCanary},
		{Name: "ops", PasswordHash: shaOfCanary},
		{Name: "ops", Role: RoleAdmin, PasswordHash: canary},
		{Name: "ops", Role: RoleAdmin},
	} {
		if _, err := CheckUser(u); err == nil || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), shaOfCanary) {
			t.Errorf("%+v: %v", u, err)
		}
		h := newHouse(func(cfg *Config) { cfg.Users = []User{u} })
		if !h.users.none() || !strings.Contains(h.log.String(), "ignored") || strings.Contains(h.log.String(), canary) {
			t.Errorf("%+v is a user: %s", u, h.log.String())
		}
	}
	if weak, err := CheckUser(User{Name: "B\u00fccher", Role: RoleReadOnly, PasswordHash: shaOfCanary}); err != nil || weak == "" {
		t.Errorf("%q %v", weak, err)
	}
}

// counting is a hash that says how often, and how many at once, it was computed.
type counting struct {
	right    string
	calls    atomic.Int32
	mu       sync.Mutex
	now, max int
	takes    time.Duration
}

func (c *counting) matches(password string) bool {
	c.calls.Add(1)
	c.mu.Lock()
	c.now++
	c.max = max(c.max, c.now)
	c.mu.Unlock()
	<-time.After(c.takes)
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
	return password == c.right
}

func (*counting) weak() string { return "" }

// countingUsers have one user, ops, whose password is canary.
func countingUsers(takes time.Duration) (*users, *counting) {
	u := newUsers([]User{{Name: "ops", Role: RoleAdmin, PasswordHash: shaOfCanary}}, zerolog.Nop())
	c := &counting{right: canary, takes: takes}
	u.list[0].hash = c
	return u, c
}

// TestCredentialsAreComputedOnceAMinute: a dashboard or a scraper that sends Basic with
// every request must not cost a hash each time.
func TestCredentialsAreComputedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, c := countingUsers(0)
		try := func(password string, reuse bool) bool {
			a, _ := u.login(t.Context(), far, "ops", password, reuse)
			return a != nil
		}
		for range 100 {
			if !try(canary, true) {
				t.Fatal("refused")
			}
		}
		if n := c.calls.Load(); n != 1 {
			t.Errorf("%d hashes for 100 requests", n)
		}
		if !try(canary, false) || c.calls.Load() != 2 {
			t.Error("a login by the form must compute the hash")
		}
		if try(canary+"x", true) {
			t.Error("another password is let in by the one that was right")
		}
		<-time.After(fresh)
		if !try(canary, true) || c.calls.Load() != 4 {
			t.Errorf("after a minute: %d hashes", c.calls.Load())
		}
	})
}

// TestUnknownNamesCostTheSame: the time of an answer must not tell which names exist.
func TestUnknownNamesCostTheSame(t *testing.T) {
	u, c := countingUsers(0)
	var messages []string
	for _, name := range []string{"ops", "nobody", "", "ops "} {
		_, err := u.login(t.Context(), far, name, "wrong", true)
		messages = append(messages, fmt.Sprintf("%d %s %s", err.status, err.Code, err.Message))
	}
	if c.calls.Load() != 4 || len(slices.Compact(messages)) != 1 {
		t.Errorf("%d hashes for 4 names: %q", c.calls.Load(), messages)
	}
	// The right password of somebody else is nobody's.
	if a, _ := u.login(t.Context(), far, "nobody", canary, true); a != nil {
		t.Error("a name that no user has was let in")
	}
}

// TestChecksAreFewAtOnce: hashes must not take the processors from the traffic.
func TestChecksAreFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, c := countingUsers(time.Second)
		var busy atomic.Int32
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				_, err := u.login(t.Context(), fmt.Sprintf("198.51.100.%d:1", i), fmt.Sprintf("name%d", i), "x", true)
				if err.status == http.StatusTooManyRequests {
					busy.Add(1)
				}
			})
		}
		wg.Wait()
		if c.max > maxChecks || busy.Load() < 100-4*maxChecks {
			t.Errorf("%d at once, %d were told to wait", c.max, busy.Load())
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		go func() { _, _ = u.login(t.Context(), far, "a", "x", true) }()
		go func() { _, _ = u.login(t.Context(), far, "b", "x", true) }()
		synctest.Wait()
		if _, err := u.login(gone, far, "ops", "x", true); err.status != http.StatusTooManyRequests {
			t.Errorf("%+v", err)
		}
		<-time.After(time.Minute)
	})
}

func TestSecretsAreNotInUsers(t *testing.T) {
	u := User{Name: "ops", Role: RoleAdmin, PasswordHash: route.Secret(canary)}
	text, err := json.Marshal(u)
	if all := string(text) + fmt.Sprintf("%v %+v %#v", u, u, u); err != nil || strings.Contains(all, canary) {
		t.Errorf("%s %v", all, err)
	}
}
