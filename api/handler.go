package api

import (
	"bytes"
	"encoding/json"
	"errors"
	stdlog "log"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
)

// reply is an answer in the making.
type reply struct {
	status int // 200 when 0
	header http.Header
	body   any // nil: none
}

// Handler returns the whole listener: headers, guards, endpoints. Of request
// bodies only a login's is read.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recover(w)
		secure(w.Header())
		e := s.find(r)
		if e == nil || !e.open {
			if r = s.admit(w, r, e); r == nil {
				return
			}
		}
		if s.toDashboard(w, r) {
			return
		}
		s.dispatch(w, r, e)
	})
}

// admit returns the request with who sends it, or answers with why it is refused and
// returns nil.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, e *endpoint) *http.Request {
	if err := s.guard.check(r); err != nil {
		s.fail(w, r, err)
		return nil
	}
	if publicPath(r.URL) && !s.users.none() {
		return r
	}
	who, err := s.identify(r)
	if err != nil && err.status == http.StatusUnauthorized {
		s.challenge(w, r, err)
		return nil
	}
	if err == nil && e != nil {
		err = permit(who, e.need)
	}
	if err != nil {
		s.fail(w, r, err)
		return nil
	}
	return withCaller(r, who)
}

// secure sets what every answer carries: nothing is stored, framed, sniffed or
// readable for another origin.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// dispatch answers from an endpoint, nil when there is none at this path.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, e *endpoint) {
	if e == nil {
		s.fail(w, r, notFound("there is nothing at this path; GET / lists what there is"))
		return
	}
	if err := s.answer(w, r, e); err != nil {
		s.fail(w, r, err)
	}
}

// answer picks what answers a method.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, e *endpoint) *Error {
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case r.Method == http.MethodPost && e.post != nil:
		return e.post(w, r)
	case reading && e.serve != nil:
		return e.serve(w, r)
	case reading && e.handle != nil:
		out, err := e.handle(r)
		if err == nil {
			s.send(w, r, out)
		}
		return err
	}
	allowed := e.methods()
	return &Error{
		Message: "this path has no method " + quoted(r.Method) + ": use " + strings.ReplaceAll(allowed, ", ", " or "), Code: CodeMethodNotAllowed,
		status: http.StatusMethodNotAllowed, header: http.Header{"Allow": {allowed}},
	}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err *Error) {
	out := reply{status: err.status, body: err}
	out.header = maps.Clone(err.header)
	s.send(w, r, out)
}

// send encodes the whole answer before its first byte leaves, so that a failure is
// a clean 500.
func (s *Server) send(w http.ResponseWriter, r *http.Request, out reply) {
	var buf bytes.Buffer
	if out.body != nil {
		if err := json.NewEncoder(&buf).Encode(out.body); err != nil {
			s.cfg.Log.Error().Err(err).Str("path", r.URL.Path).Msg("admin answer not encoded")
			out = reply{status: http.StatusInternalServerError}
			buf.Reset()
			buf.WriteString(internalError)
		}
	}
	maps.Copy(w.Header(), out.header)
	if buf.Len() > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	}
	if out.status == 0 {
		out.status = http.StatusOK
	}
	w.WriteHeader(out.status)
	if r.Method != http.MethodHead && out.status != http.StatusNotModified {
		_, _ = w.Write(buf.Bytes()) // the client is gone: nobody is left to tell
	}
}

// internalError is the body of an answer that could not be made.
const internalError = `{"error":"the answer could not be made; the router's log says more","code":"internal"}` + "\n"

// recover turns a panic into a 500 and a log line. The value of the panic is not
// shown, since it may hold anything; its type and the stack are.
func (s *Server) recover(w http.ResponseWriter) {
	value := recover()
	if value == nil {
		return
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	s.cfg.Log.Error().Type("type", value).Bytes("stack", debug.Stack()).Msg("admin handler panicked")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write([]byte(internalError))
}

// quietLog sends what net/http complains about (scanners, clients that went away)
// to debug level.
func quietLog(log zerolog.Logger) *stdlog.Logger {
	return stdlog.New(debugWriter{log}, "", 0)
}

type debugWriter struct{ log zerolog.Logger }

func (w debugWriter) Write(p []byte) (int, error) {
	w.log.Debug().Str("detail", strings.TrimSpace(string(p))).Msg("admin listener")
	return len(p), nil
}
