package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// caller is who asks.
type caller struct {
	name    string
	role    Role
	session string // the token, "" without a session
}

// Anonymous is the name of nobody in particular.
const Anonymous = "anonymous"

// anonymous may read where that is permitted.
func anonymous() caller { return caller{name: Anonymous, role: RoleReadOnly} }

type callerKey struct{}

func withCaller(r *http.Request, c caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

func callerOf(r *http.Request) caller {
	if c, ok := r.Context().Value(callerKey{}).(caller); ok {
		return c
	}
	return anonymous()
}

// Who tells who sends a request that passed the guards: its name and role, and whether
// it has a session that POST /logout ends. The name may be Anonymous.
func Who(r *http.Request) (me Me, session bool) {
	c := callerOf(r)
	return Me{Name: c.name, Role: string(c.role)}, c.session != ""
}

// identify finds out who asks, or why nothing is answered.
func (s *Server) identify(r *http.Request) (caller, *Error) {
	if s.users.none() {
		return anonymous(), s.guard.stranger(r)
	}
	if name, password, ok := r.BasicAuth(); ok {
		a, err := s.users.login(r.Context(), r.RemoteAddr, name, password, true)
		if err != nil {
			return caller{}, err
		}
		return caller{name: a.name, role: a.role}, nil
	}
	if r.Header.Get("Authorization") != "" {
		return caller{}, unauthorized("credentials are read as HTTP Basic only")
	}
	for _, token := range tokensOf(r) {
		if a := s.sessions.find(token); a != nil {
			return caller{name: a.name, role: a.role, session: token}, nil
		}
	}
	if s.guard.anonymous {
		return anonymous(), nil
	}
	return caller{}, unauthorized("log in: send a user of admin.users by HTTP Basic (fairlead reads FAIRLEAD_USER and FAIRLEAD_PASSWORD)")
}

func unauthorized(message string) *Error {
	return &Error{Message: message, Code: CodeUnauthorized, status: http.StatusUnauthorized}
}

// still reports whether somebody that a stream is open for may go on, and counts as
// activity of the session.
func (s *Server) still(c caller) bool { return c.session == "" || s.sessions.find(c.session) != nil }

// permit refuses a role that may not.
func permit(c caller, need Role) *Error {
	if need != RoleAdmin || c.role == RoleAdmin {
		return nil
	}
	if c.name == Anonymous {
		return forbidden(CodeForbidden, "this needs a user with the role admin: add one to admin.users (fairlead hash-password makes the hash) and log in as it")
	}
	return forbidden(CodeForbidden, "the user %s may only read; this needs the role admin", quoted(c.name))
}

// challenge answers a request that lacks credentials: a person is led to the form, a
// program is asked for HTTP Basic.
func (s *Server) challenge(w http.ResponseWriter, r *http.Request, err *Error) {
	if forPerson(r) && r.Header.Get("Authorization") == "" {
		w.Header().Set("Vary", "Accept")
		w.Header().Set("Location", s.loginFrom(r.URL))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	refusal := *err
	refusal.header = http.Header{"Www-Authenticate": {`Basic realm="fairlead", charset="UTF-8"`}}
	if mode := r.Header.Get("Sec-Fetch-Mode"); len(tokensOf(r)) > 0 || mode != "" && mode != "navigate" {
		// A script of the dashboard whose session is over: a browser that is asked for
		// Basic would open a window of its own.
		refusal.header.Set("Www-Authenticate", `Session realm="fairlead"`)
	}
	s.fail(w, r, &refusal)
}

// loginFrom is the login form, relative to a page, with the way back to it: relative,
// so that it holds behind a proxy that adds a path of its own.
func (s *Server) loginFrom(page *url.URL) string {
	path := page.EscapedPath()
	up := strings.Repeat("../", max(0, strings.Count(path, "/")-1))
	if up == "" {
		up = "./"
	}
	if page.RawQuery != "" {
		path += "?" + page.RawQuery
	}
	return up + "login?" + url.Values{"next": {path}}.Encode()
}

// comeBack is where a login leads, relative to the form. Only a path of this listener
// is taken.
func comeBack(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") || strings.HasPrefix(u.Path, "/login") {
		return "./"
	}
	u.Fragment, u.RawFragment = "", ""
	return "." + u.String()
}
