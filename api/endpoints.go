package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// endpoint is one path of the listener.
type endpoint struct {
	path string // segments in braces are parameters
	does string
	open bool // outside the guards
	need Role // "": whoever may read
	// handle answers a GET or HEAD request.
	handle func(r *http.Request) (reply, *Error)
	// serve answers instead of handle where the answer is not one piece of JSON. It
	// must not have written anything when it returns an error.
	serve func(w http.ResponseWriter, r *http.Request) *Error
	// post answers a POST request, like serve.
	post func(w http.ResponseWriter, r *http.Request) *Error
}

// methods that an endpoint has, as Allow lists them.
func (e *endpoint) methods() string {
	switch {
	case e.handle == nil && e.serve == nil:
		return "POST"
	case e.post != nil:
		return "GET, HEAD, POST"
	}
	return "GET, HEAD"
}

// open is an endpoint outside the guards: whoever reaches the listener may ask.
func open(path, does string, handle func(*http.Request) (reply, *Error)) endpoint {
	return endpoint{path: path, does: does, open: true, handle: handle}
}

// read is an endpoint for everybody who may read.
func read(path, does string, handle func(*http.Request) (reply, *Error)) endpoint {
	return endpoint{path: path, does: does, handle: handle}
}

// Index is the answer of GET /: what there is.
type Index struct {
	Name      string         `json:"name"`
	Version   string         `json:"version"`
	Endpoints []IndexedEntry `json:"endpoints"`
}

// IndexedEntry is one path in the Index.
type IndexedEntry struct {
	Path        string `json:"path"`
	Description string `json:"description"`
}

// Status is the answer of GET /health, /healthy and /healthz.
type Status struct {
	Status string `json:"status"`
}

// Me is the answer of GET /me: who asks.
type Me struct {
	Name string `json:"name"`
	Role string `json:"role"` // admin, read-only
}

func (s *Server) endpoints() []endpoint {
	return append([]endpoint{
		read("/", "this list", s.index),
		open("/health", "200 while the process answers", s.alive),
		open("/healthy", "200 while the process answers", s.alive),
		open("/healthz", "200 while the process answers", s.alive),
		open("/ready", "whether traffic may be sent here: 200, or 503 while starting and stopping", s.ready),
		read("/me", "who you are", s.me),
		read("/entrypoints", "all entrypoints; filters q, state, source, protocol, tls; limit and after page", s.list),
		read("/entrypoints/{id}", "one entrypoint with its history", s.one),
		read("/entrypoints/{id}/backends", "the health of its backends", s.backends),
		read("/entrypoints/{id}/backends/{bid}", "the health of one backend", s.backend),
		read("/entrypoints/{id}/backends/{bid}/history", "its transitions, oldest first, until ten minutes after its removal", s.history),
		read("/entrypoints/{id}/traffic", "its requests in steps of 5 seconds over 10 minutes", s.trafficOfOne),
		read("/traffic", "the requests of all entrypoints, and those without a route, in the same steps", s.traffic),
		read("/resolve", "what becomes of a request: url, method, header (repeatable, Name: value), client_ip", s.resolve),
		read("/checks", "every distinct check and who shares it", s.checks),
		read("/diagnostics", "what is wrong with labels, and what is not routed", s.diagnostics),
		read("/providers", "where entrypoints come from", s.providers),
		{path: "/config", does: "the settings in force and where each came from; role admin", need: RoleAdmin, handle: s.configuration},
		read("/openapi.json", "this API as an OpenAPI 3.1 document", s.openapi),
		{path: "/events", does: "a WebSocket that tells every change: transitions, tables, providers; since resumes", serve: s.events},
		{path: "/login", does: "the login form; POST name and password, as a form or as JSON, gives a session cookie", serve: s.loginForm, post: s.login},
		{path: "/logout", does: "POST ends the session", post: s.logout},
	}, s.orderEndpoints()...)
}

// find returns the endpoint at a path and stores its parameters in the request. The
// path is taken as it was sent: nothing is cleaned and nothing redirects.
func (s *Server) find(r *http.Request) *endpoint {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for i := range s.routes {
		if params, ok := matchPath(s.routes[i].path, segments); ok {
			for name, value := range params {
				r.SetPathValue(name, value)
			}
			return &s.routes[i]
		}
	}
	return nil
}

func matchPath(pattern string, segments []string) (map[string]string, bool) {
	parts := strings.Split(pattern, "/")
	if len(parts) != len(segments) {
		return nil, false
	}
	params := map[string]string{}
	for i, part := range parts {
		text, err := url.PathUnescape(segments[i])
		if err != nil {
			return nil, false
		}
		if name, ok := strings.CutPrefix(part, "{"); ok {
			params[strings.TrimSuffix(name, "}")] = text
		} else if part != text {
			return nil, false
		}
	}
	return params, true
}

func (s *Server) index(*http.Request) (reply, *Error) {
	out := Index{Name: "fairlead", Version: s.cfg.Version, Endpoints: make([]IndexedEntry, len(s.routes))}
	for i := range s.routes {
		out.Endpoints[i] = IndexedEntry{Path: s.routes[i].path, Description: s.routes[i].does}
	}
	return reply{body: out}, nil
}

func (s *Server) alive(*http.Request) (reply, *Error) {
	return reply{body: Status{Status: "ok"}}, nil
}

func (s *Server) me(r *http.Request) (reply, *Error) {
	me, _ := Who(r)
	return reply{body: me}, nil
}

// entrypoint finds the one that the path names.
func (s *Server) entrypoint(r *http.Request) (*router.View, *router.EntrypointView, *Error) {
	v, id := s.cfg.Viewer.View(), r.PathValue("id")
	i, ok := slices.BinarySearchFunc(v.Entrypoints, id, func(e router.EntrypointView, id string) int {
		return strings.Compare(e.Entrypoint.ID, id)
	})
	if !ok {
		return nil, nil, notFound("there is no entrypoint %s; GET /entrypoints lists them, GET /diagnostics says what is not routed and why", quoted(id))
	}
	return v, &v.Entrypoints[i], nil
}

func (s *Server) one(r *http.Request) (reply, *Error) {
	v, e, err := s.entrypoint(r)
	if err != nil {
		return reply{}, err
	}
	return s.tagged(r, v, []*router.EntrypointView{e}, func() (any, http.Header) {
		return newEntrypoint(v, e, true, s.cfg.Traffic), nil
	}), nil
}

func (s *Server) backends(r *http.Request) (reply, *Error) {
	v, e, err := s.entrypoint(r)
	if err != nil {
		return reply{}, err
	}
	return reply{body: newEntrypoint(v, e, true, s.cfg.Traffic).BackendHealth}, nil
}

func (s *Server) backend(r *http.Request) (reply, *Error) {
	b, err := s.findBackend(r)
	if err != nil {
		return reply{}, err
	}
	return reply{body: b}, nil
}

// Historian remembers transitions of backends, for a while also of those that are gone.
// The health engine implements it.
type Historian interface {
	// History returns the last transitions, oldest first; ok is false when nothing is
	// known of the backend.
	History(entrypoint, backend string) (list []route.Transition, ok bool)
}

// history answers for a backend that was removed, too, and for a removed entrypoint.
func (s *Server) history(r *http.Request) (reply, *Error) {
	if s.cfg.History != nil {
		if list, ok := s.cfg.History.History(r.PathValue("id"), r.PathValue("bid")); ok {
			return reply{body: newHistory(list)}, nil
		}
	}
	b, err := s.findBackend(r)
	if err != nil {
		return reply{}, err
	}
	return reply{body: b.History}, nil
}

func (s *Server) findBackend(r *http.Request) (BackendHealth, *Error) {
	_, e, err := s.entrypoint(r)
	if err != nil {
		return BackendHealth{}, err
	}
	for i := range e.Health.Backends {
		if h := &e.Health.Backends[i]; h.Backend.ID == r.PathValue("bid") {
			return newBackendHealth(e, h, true, s.cfg.Traffic), nil
		}
	}
	return BackendHealth{}, notFound("entrypoint %s has no backend %s; GET /entrypoints/{id}/backends lists them",
		quoted(e.Entrypoint.ID), quoted(r.PathValue("bid")))
}

func (s *Server) checks(*http.Request) (reply, *Error) {
	return reply{body: newChecks(s.cfg.Viewer.View())}, nil
}

func (s *Server) diagnostics(*http.Request) (reply, *Error) {
	return reply{body: newDiagnostics(s.cfg.Viewer.View())}, nil
}

func (s *Server) providers(*http.Request) (reply, *Error) {
	return reply{body: newProviders(s.cfg.Viewer.View(), time.Now())}, nil
}
