package api

import (
	"encoding/json"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// LoginView is what the login form shows. The form posts name, password and next to the
// path that it is at.
type LoginView struct {
	// Status to send: 200, 401 after a wrong password, 429 after too many.
	Status int
	// Problem is "" before the first attempt.
	Problem string
	// Name is what was typed, to be shown again.
	Name string
	// Next is the path to come back to, given back as a field.
	Next string
}

// maxLogin bounds the body of a login, in bytes.
const maxLogin = 8 << 10

// Credentials are the body of POST /login.
type Credentials struct {
	Name     string `json:"name"`
	Password string `json:"password"`
	Next     string `json:"-"`
	program  bool   // sent as JSON: answered with it
}

// loginForm answers GET /login.
func (s *Server) loginForm(w http.ResponseWriter, r *http.Request) *Error {
	if s.users.none() {
		return noUsers()
	}
	s.showLogin(w, r, LoginView{Status: http.StatusOK, Next: r.URL.Query().Get("next")})
	return nil
}

func noUsers() *Error {
	return notFound("there is nobody to log in: add users to admin.users (fairlead hash-password makes the hash)")
}

// login answers POST /login: a session cookie, and for a form the way back.
func (s *Server) login(w http.ResponseWriter, r *http.Request) *Error {
	if s.users.none() {
		return noUsers()
	}
	in, err := readCredentials(w, r)
	if err != nil {
		return err
	}
	a, err := s.users.login(r.Context(), r.RemoteAddr, in.Name, in.Password, false)
	if err != nil {
		if in.program {
			return err
		}
		if wait := err.header.Get("Retry-After"); wait != "" {
			w.Header().Set("Retry-After", wait)
		}
		s.showLogin(w, r, LoginView{Status: err.status, Problem: err.Message, Name: in.Name, Next: in.Next})
		return nil
	}
	for _, old := range tokensOf(r) {
		s.sessions.end(old)
	}
	http.SetCookie(w, sessionCookie(s.sessions.begin(a), overTLS(r)))
	s.cfg.Log.Info().Str("user", a.name).Str("client", prefixOf(r.RemoteAddr).Addr().String()).Msg("login")
	if in.program {
		s.send(w, r, reply{body: Me{Name: a.name, Role: string(a.role)}})
		return nil
	}
	w.Header().Set("Location", comeBack(in.Next))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// readCredentials reads a form or JSON.
func readCredentials(w http.ResponseWriter, r *http.Request) (Credentials, *Error) {
	var in Credentials
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		in.program = true
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		if decoder.Decode(&in) != nil || decoder.More() {
			return in, badParameter("", `the body is not {"name": "...", "password": "..."}, or too long`)
		}
	case "application/x-www-form-urlencoded":
		if r.ParseForm() != nil {
			return in, badParameter("", "the form cannot be read, or is too long")
		}
		in.Name, in.Password, in.Next = r.PostForm.Get("name"), r.PostForm.Get("password"), r.PostForm.Get("next")
	default:
		return in, &Error{
			Message: "send application/x-www-form-urlencoded or application/json", Code: CodeUnsupportedMedia,
			status: http.StatusUnsupportedMediaType,
		}
	}
	return in, nil
}

// logout answers POST /logout.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) *Error {
	for _, token := range tokensOf(r) {
		s.sessions.end(token)
	}
	http.SetCookie(w, sessionCookie("", false))
	if overTLS(r) {
		http.SetCookie(w, sessionCookie("", true))
	}
	if acceptsHTML(r) {
		w.Header().Set("Location", "login")
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// showLogin sends the dashboard's form, or a plain one where there is no dashboard.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request, v LoginView) {
	v.Next = strings.TrimPrefix(comeBack(v.Next), ".")
	if s.cfg.LoginPage != nil {
		s.cfg.LoginPage(w, r, v)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	// With no-referrer a browser would send the form with the origin null.
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(v.Status)
	if r.Method != http.MethodHead {
		_ = s.plainLogin.Execute(w, v) // the client is gone: nobody is left to tell
	}
}

func newPlainLogin() *template.Template {
	return template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Log in - Fairlead</title>
<h1>Fairlead</h1>
{{with .Problem}}<p role="alert">{{.}}</p>{{end}}
<form method="post" action="login"><input type="hidden" name="next" value="{{.Next}}">
<p><label>Name <input name="name" value="{{.Name}}" autocomplete="username" autofocus required></label>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<p><button>Log in</button></form></html>
`))
}

// acceptsHTML reports whether a request names HTML among what it accepts, as browsers
// do and programs do not.
func acceptsHTML(r *http.Request) bool {
	for field := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, params, err := mime.ParseMediaType(field)
		if err == nil && kind == "text/html" && params["q"] != "0" {
			return true
		}
	}
	return false
}

// publicPath reports whether a path is answered before anybody logs in: the form and
// what it looks like. The path is taken as it was sent, as the dashboard takes it: an
// encoded slash makes it a page.
func publicPath(u *url.URL) bool {
	path := u.EscapedPath()
	return path == "/login" || path == "/logout" || strings.HasPrefix(path, dashboardPath+"/static/")
}
