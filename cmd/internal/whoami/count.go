package whoami

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// What every answer says about who gave it.
const (
	headerName = "X-Whoami"
	headerHost = "X-Whoami-Host"
)

// probeAgent begins the User-Agent of the router's own probes.
const probeAgent = "fairlead-health"

// counted counts requests and probes, notes which ones are in flight, and says who
// answers. Asking for the counts counts nothing.
func (s *server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(headerName, s.cfg.Name)
		w.Header().Set(headerHost, s.host)
		switch {
		case r.URL.Path == "/stats":
		case strings.HasPrefix(r.UserAgent(), probeAgent):
			s.probes.Add(1)
		default:
			s.requests.Add(1)
		}
		if id := r.URL.Query().Get("id"); id != "" {
			s.note(id, 1)
			defer s.note(id, -1)
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) note(id string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[id] += n; s.inFlight[id] == 0 {
		delete(s.inFlight, id)
	}
}

// stats says how many requests and probes came, and which with ?id= are in flight.
func (s *server) stats(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	ids := make([]string, 0, len(s.inFlight))
	for id := range s.inFlight {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	slices.Sort(ids)
	_, _ = fmt.Fprintf(w, "Requests: %d\nProbes: %d\nIn-Flight: %s\n", s.requests.Load(), s.probes.Load(), strings.Join(ids, " "))
}
