package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// TestMetricsEndpoint: behind the guards of the listener, read only, and absent where
// metrics have a listener of their own.
func TestMetricsEndpoint(t *testing.T) {
	s := New(Config{Viewer: fixed{richView()}, Log: zerolog.Nop(), Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "up 1\n")
	})})
	if w := get(s, "/metrics"); w.Code != http.StatusOK || w.Body.String() != "up 1\n" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if w := get(s, "/metrics", "Host", "evil.example"); w.Code != http.StatusForbidden {
		t.Errorf("a rebound name gets %d", w.Code)
	}
	if w := ask(s, http.MethodPost, "/metrics"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST gets %d", w.Code)
	}
	r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	r.Host, r.RemoteAddr = "127.0.0.1:3035", "192.0.2.1:5000"
	w := httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("another machine gets %d", w.Code)
	}
	if w := get(s, "/"); !strings.Contains(w.Body.String(), `"/metrics"`) {
		t.Error("the index lacks it")
	}
	if w := get(newServer(richView()), "/metrics"); w.Code != http.StatusNotFound {
		t.Errorf("without metrics: %d", w.Code)
	}
}
