package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rs/zerolog"
)

// page is how a browser asks for one.
var page = []string{"Accept", browser}

// form posts one as a browser does.
func (h *house) form(path string, fields url.Values, header ...string) *httptest.ResponseRecorder {
	header = append([]string{
		"Content-Type", "application/x-www-form-urlencoded", "Origin", "http://router.example", "Accept", browser,
	}, header...)
	return h.from(far, "POST", path, fields.Encode(), header...)
}

func fields(name, password, next string) url.Values {
	return url.Values{"name": {name}, "password": {password}, "next": {next}}
}

// cookieOf is the session cookie of an answer, as it is sent back.
func cookieOf(t *testing.T, w *httptest.ResponseRecorder) *http.Cookie {
	t.Helper()
	for _, c := range w.Result().Cookies() {
		if c.Name == cookieName || c.Name == cookieNameTLS {
			return c
		}
	}
	t.Fatalf("no cookie: %d %v", w.Code, w.Header())
	return nil
}

func (h *house) enter(t *testing.T, name string) *http.Cookie {
	t.Helper()
	w := h.form("/login", fields(name, canary, "/dashboard/health?x=1"))
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "./dashboard/health?x=1" {
		t.Fatalf("login: %d %v %s", w.Code, w.Header(), w.Body)
	}
	return cookieOf(t, w)
}

func (h *house) with(c *http.Cookie, path string) int {
	return h.from(far, "GET", path, "", "Cookie", c.Name+"="+c.Value).Code
}

func TestLoginAndLogout(t *testing.T) {
	h := newHouse(nil)
	w := h.from(far, "GET", "/login?next=%2Fdashboard%2F", "", page...)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `value="/dashboard/"`) || w.Header().Get("Referrer-Policy") != "same-origin" ||
		!strings.Contains(w.Header().Get("Content-Security-Policy"), "form-action 'self'") {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	c := h.enter(t, "ops")
	if len(c.Value) < 43 || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.Domain != "" {
		t.Errorf("%+v", c)
	}
	other := h.enter(t, "watch")
	if h.with(c, "/admin") != 200 || h.with(other, "/admin") != 403 || h.with(other, "/entrypoints") != 200 {
		t.Error("the cookies do not carry their roles")
	}
	if again := h.form("/login", fields("ops", canary, ""), "Cookie", c.Name+"="+c.Value); cookieOf(t, again).Value == c.Value || h.with(c, "/me") != 401 {
		t.Error("a login keeps the old token")
	}
	c = h.enter(t, "ops")
	w = h.form("/logout", nil, "Cookie", c.Name+"="+c.Value)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "login" || cookieOf(t, w).MaxAge >= 0 {
		t.Errorf("logout: %d %v", w.Code, w.Header())
	}
	if h.with(c, "/me") != 401 {
		t.Error("the token lives on")
	}
	if w := h.from(far, "POST", "/logout", ""); w.Code != http.StatusNoContent {
		t.Errorf("logout of a program: %d", w.Code)
	}
	if log := h.log.String(); strings.Contains(log, c.Value) || strings.Contains(log, canary) || !strings.Contains(log, `"user":"ops"`) {
		t.Errorf("log: %s", log)
	}
}

func TestLoginRefused(t *testing.T) {
	h := newHouse(nil)
	w := h.form("/login", fields(`o"ps<b>`, "wrong", "/dashboard/"))
	body := w.Body.String()
	if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "" || len(w.Result().Cookies()) != 0 ||
		!strings.Contains(body, "is wrong") || !strings.Contains(body, "o&#34;ps&lt;b&gt;") || !strings.Contains(body, `value="/dashboard/"`) || strings.Contains(body, "wrong\"") {
		t.Errorf("%d %v %s", w.Code, w.Header(), body)
	}
	json := []string{"Content-Type", "application/json"}
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     string
	}{
		{"another origin", "POST", "/login", "", []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", "http://evil.example"}, 403, CodeCrossOrigin},
		{"another site", "POST", "/login", "", []string{"Sec-Fetch-Site", "cross-site"}, 403, CodeCrossOrigin},
		{"logout from another site", "POST", "/logout", "", []string{"Sec-Fetch-Site", "same-site"}, 403, CodeCrossOrigin},
		{"logout by a link", "GET", "/logout", "", nil, 405, CodeMethodNotAllowed},
		{"rebound", "GET", "/login", "", []string{"X", "y"}, 403, CodeBadHost},
		{"plain text", "POST", "/login", "name=ops", []string{"Content-Type", "text/plain"}, 415, CodeUnsupportedMedia},
		{"no type", "POST", "/login", "name=ops", nil, 415, CodeUnsupportedMedia},
		{"broken JSON", "POST", "/login", "{", json, 400, CodeBadParameter},
		{"unknown field", "POST", "/login", `{"name":"ops","pass":"x"}`, json, 400, CodeBadParameter},
		{"two values", "POST", "/login", `{"name":"a"}{"name":"b"}`, json, 400, CodeBadParameter},
		{"too long", "POST", "/login", `{"name":"` + strings.Repeat("a", maxLogin) + `"}`, json, 400, CodeBadParameter},
		{"form too long", "POST", "/login", "name=" + strings.Repeat("a", maxLogin), []string{"Content-Type", "application/x-www-form-urlencoded"}, 400, CodeBadParameter},
		{"wrong JSON", "POST", "/login", `{"name":"ops","password":"x"}`, json, 401, CodeUnauthorized},
		{"put", "PUT", "/login", "", nil, 405, CodeMethodNotAllowed},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Host, r.RemoteAddr = "router.example", "198.51.100.1:1"
		if c.name == "rebound" {
			r.Host = "evil.example"
		}
		for i := 0; i+1 < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		if e := decodeError(t, w.Body.Bytes()); w.Code != c.status || e.Code != c.code {
			t.Errorf("%s: %d %+v, want %d %s", c.name, w.Code, e, c.status, c.code)
		}
	}
	w = h.from(far, "POST", "/login", `{"name":"ops","password":"`+canary+`"}`, json...)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"role":"admin"`) || h.with(cookieOf(t, w), "/admin") != 200 {
		t.Errorf("login of a program: %d %s", w.Code, w.Body)
	}
	none := newHouse(func(cfg *Config) { cfg.Users = nil })
	for _, method := range []string{"GET", "POST"} {
		if w := none.from(here, method, "/login", ""); w.Code != http.StatusNotFound {
			t.Errorf("%s without users: %d", method, w.Code)
		}
		if w := none.from(far, method, "/login", ""); w.Code != http.StatusForbidden {
			t.Errorf("%s of a stranger without users: %d", method, w.Code)
		}
	}
}

// TestPeopleAreLedToTheForm: relative, so that it holds behind a proxy with a prefix.
func TestPeopleAreLedToTheForm(t *testing.T) {
	h := newHouse(func(cfg *Config) { cfg.Dashboard = http.NotFoundHandler() })
	for path, want := range map[string]string{
		"/":                        "./login?next=%2F",
		"/entrypoints":             "./login?next=%2Fentrypoints",
		"/dashboard/":              "../login?next=%2Fdashboard%2F",
		"/dashboard/a/b%2Fc?q=%26": "../../login?next=%2Fdashboard%2Fa%2Fb%252Fc%3Fq%3D%2526",
	} {
		w := h.from(far, "GET", path, "", page...)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != want || w.Body.Len() != 0 {
			t.Errorf("%s: %d %q, want %q", path, w.Code, w.Header().Get("Location"), want)
		}
	}
	for _, c := range []struct {
		header []string
		scheme string
	}{
		{nil, "Basic"},
		{append(basic("ops", "wrong"), page...), "Basic"},
		{append([]string{"Sec-Fetch-Mode", "navigate"}, "Accept", "*/*"), "Basic"},
		{[]string{"Sec-Fetch-Mode", "cors"}, "Session"},
		{[]string{"Cookie", cookieName + "=gone"}, "Session"},
	} {
		w := h.from(far, "GET", "/entrypoints", "", c.header...)
		if got, _, _ := strings.Cut(w.Header().Get("WWW-Authenticate"), " "); w.Code != http.StatusUnauthorized || got != c.scheme {
			t.Errorf("%v: %d %q", c.header, w.Code, got)
		}
	}
	if w := h.from(far, "GET", "/dashboard/static/x.css", ""); w.Code != http.StatusNotFound {
		t.Errorf("what the form looks like needs a login: %d", w.Code)
	}
	for _, path := range []string{"/dashboard/static%2Fx.css", "/dashboard%2Fstatic/x.css", "/%64ashboard/static/x.css", "/dashboard/static", "/login/", "/logi%6e/x"} {
		if w := h.from(far, "GET", path, ""); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestNoOpenRedirect: a login leads to a path of this listener only.
func TestNoOpenRedirect(t *testing.T) {
	for next, want := range map[string]string{
		"": "./", "/": "./", "/dashboard/": "./dashboard/", "/dashboard/a%2Fb?q=1&r=%2F": "./dashboard/a%2Fb?q=1&r=%2F",
		"/entrypoints#x":        "./entrypoints",
		"https://evil.example/": "./", "//evil.example/": "./", "///evil.example": "./", "/\\evil.example": "./", "\\\\evil.example": "./",
		"javascript:alert(1)": "./", "evil": "./", "/a\r\nSet-Cookie: x=y": "./", "/\t/evil.example": "./", "/%zz": "./", "/login?next=/login": "./",
	} {
		if got := comeBack(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

func TestCookieOverTLS(t *testing.T) {
	h := newHouse(nil)
	for name, header := range map[string][]string{
		"page": {"Origin", "https://router.example"}, "proxy": {"X-Forwarded-Proto", "https"},
	} {
		if name == "page" {
			header = append(header, "Sec-Fetch-Site", "same-origin")
		}
		w := h.from(far, "POST", "/login", fields("ops", canary, "").Encode(), append(header, "Content-Type", "application/x-www-form-urlencoded")...)
		if c := cookieOf(t, w); !c.Secure || c.Name != cookieNameTLS || h.with(c, "/me") != 200 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(nil)
		idle := h.enter(t, "ops")
		<-time.After(sessionIdle - time.Second)
		if h.with(idle, "/me") != 200 {
			t.Error("ended before it was idle long enough")
		}
		<-time.After(sessionIdle)
		if h.with(idle, "/me") != 401 {
			t.Error("an idle session lives on")
		}
		busy := h.enter(t, "ops")
		began := time.Now()
		for time.Since(began) < sessionLife-time.Minute {
			<-time.After(30 * time.Minute)
			if time.Since(began) < sessionLife && h.with(busy, "/me") != 200 {
				t.Fatalf("ended after %v", time.Since(began))
			}
		}
		<-time.After(time.Minute)
		if h.with(busy, "/me") != 401 {
			t.Error("a session lasts for ever")
		}
	})
}

// TestSessionsAreBounded: one who logs in again and again ends his own oldest ones only.
func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		a, b := &account{name: "a"}, &account{name: "b"}
		quiet, first := s.begin(b), s.begin(a)
		<-time.After(time.Second)
		var last string
		for range 10 * sessionsPerUser {
			last = s.begin(a)
		}
		if len(s.open) != sessionsPerUser+1 || s.find(quiet) != b || s.find(first) != nil || s.find(last) != a {
			t.Errorf("%d sessions", len(s.open))
		}
		<-time.After(sessionIdle)
		s.begin(b)
		if len(s.open) != 1 {
			t.Errorf("%d sessions, want the new one", len(s.open))
		}
		for token := range map[string]bool{quiet: true, "": true, "x": true} {
			if s.find(token) != nil {
				t.Errorf("%q is a session", token)
			}
		}
	})
}

// TestStreamEndsWithItsSession: a WebSocket does not outlive the logout for long, and an
// open one keeps the session from being idle.
func TestStreamEndsWithItsSession(t *testing.T) {
	onStage(t, func(s *stage) {
		s.server.users = newUsers([]User{{Name: "ops", Role: RoleAdmin, PasswordHash: shaOfCanary}}, zerolog.Nop())
		if status, e := s.refused("", nil); status != http.StatusUnauthorized {
			t.Fatalf("%d %+v", status, e)
		}
		token := s.server.sessions.begin(s.server.users.list[0])
		d := websocket.Dialer{NetDialContext: s.pipes.dial}
		conn, resp, err := d.DialContext(s.Context(), "ws://127.0.0.1:3035/events", http.Header{"Cookie": {cookieName + "=" + token}})
		if err != nil {
			t.Fatalf("%v %+v", err, resp)
		}
		defer conn.Close()
		ended := make(chan error, 1)
		go func() {
			for err := error(nil); err == nil; {
				_, _, err = conn.ReadMessage()
				if err != nil {
					ended <- err
				}
			}
		}()
		<-time.After(3 * sessionIdle)
		select {
		case err := <-ended:
			t.Fatalf("ended while it is watched: %v", err)
		default:
		}
		s.server.sessions.end(token)
		began := time.Now()
		if err := <-ended; !websocket.IsCloseError(err, websocket.ClosePolicyViolation) || time.Since(began) > watchPing {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
