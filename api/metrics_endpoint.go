package api

import "net/http"

// metricsEndpoints is GET /metrics behind the guards, where the listener has it.
func (s *Server) metricsEndpoints() []endpoint {
	if s.cfg.Metrics == nil {
		return nil
	}
	return []endpoint{{path: "/metrics", does: "what there is to count, for Prometheus", serve: func(w http.ResponseWriter, r *http.Request) *Error {
		s.cfg.Metrics.ServeHTTP(w, r)
		return nil
	}}}
}
