package api

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"
)

// How long a session of the dashboard lasts, and how many a user may have.
const (
	sessionIdle     = time.Hour
	sessionLife     = 24 * time.Hour
	sessionsPerUser = 50
)

// session is one login by the form.
type session struct {
	account *account
	began   time.Time
	seen    time.Time // the last request, or ping of an open stream
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.began) >= sessionLife || now.Sub(s.seen) >= sessionIdle
}

// sessions keeps them by the hash of their token, so that what is in memory is no
// token. It is safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*session
}

func newSessions() *sessions { return &sessions{open: map[[sha256.Size]byte]*session{}} }

// begin opens a session and returns its token, 256 random bits. The user's oldest one
// ends when there are too many.
func (s *sessions) begin(a *account) string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	token := base64.RawURLEncoding.EncodeToString(raw[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var oldest [sha256.Size]byte
	count := 0
	for id, other := range s.open {
		switch {
		case other.over(now):
			delete(s.open, id)
		case other.account == a:
			if count++; count == 1 || other.seen.Before(s.open[oldest].seen) {
				oldest = id
			}
		}
	}
	if count >= sessionsPerUser {
		delete(s.open, oldest)
	}
	s.open[sha256.Sum256([]byte(token))] = &session{account: a, began: now, seen: now}
	return token
}

// find returns whose session a token is, nil for none, and counts as activity.
func (s *sessions) find(token string) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := sha256.Sum256([]byte(token))
	one, now := s.open[id], time.Now()
	if one == nil {
		return nil
	}
	if one.over(now) {
		delete(s.open, id)
		return nil
	}
	one.seen = now
	return one.account
}

// end forgets a session; it need not exist.
func (s *sessions) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(token)))
}

// Names of the cookie. The prefix makes browsers refuse one that was set without TLS or
// by a sister domain.
const (
	cookieName    = "fairlead_session"
	cookieNameTLS = "__Host-" + cookieName
)

// tokensOf returns the session tokens of a request. A browser sends a cookie once for
// each name, path and domain it was set with.
func tokensOf(r *http.Request) []string {
	var tokens []string
	for _, c := range r.Cookies() {
		if c.Name == cookieName || c.Name == cookieNameTLS {
			tokens = append(tokens, c.Value)
		}
	}
	return tokens
}

// overTLS reports whether the browser's side of a request is HTTPS. A proxy in front may
// end it, so the origin of the page counts, which no page can forge; what a proxy says
// can only make the cookie stricter.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://") ||
		strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// sessionCookie is the cookie of a token; "" makes the browser forget it.
func sessionCookie(token string, tls bool) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // with Secure, the browser would not send it to a listener without TLS
		Name: cookieName, Value: token, Path: "/", HttpOnly: true, Secure: tls, SameSite: http.SameSiteStrictMode,
	}
	if tls {
		c.Name = cookieNameTLS
	}
	if token == "" {
		c.MaxAge = -1
	}
	return c
}
