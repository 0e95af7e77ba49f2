package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead/api/webhook"
	"fairlead/cmd/internal/config"
	"fairlead/router/route"
)

// TestWebhookOfARunningRouter: what happens to a backend reaches the receiver, with the
// reason and a signature; the address and the secret show nowhere, and nothing that is
// secret of a route or its check shows in a notice.
func TestWebhookOfARunningRouter(t *testing.T) {
	heard := make(chan webhook.Notice, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get(webhook.HeaderSignature) != webhook.Sign(canary, r.Header.Get(webhook.HeaderTimestamp), body) {
			t.Errorf("%v: the signature does not fit: %v", err, r.Header)
		}
		if strings.Contains(string(body), canary) {
			t.Errorf("a notice shows a secret: %s", body)
		}
		var n webhook.Notice
		if err := json.Unmarshal(body, &n); err != nil {
			t.Error(err)
		}
		heard <- n
	}))
	defer receiver.Close()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("X-Probe"))
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, r.URL.RawQuery)
	}))
	address := backend.URL
	s := settings(tempFile(t, secretRoutes(address)))
	s.Notify.Webhook.URL, s.Notify.Webhook.Secret = route.Secret(receiver.URL+"/"+canary), canary
	s.HealthCheck.Tick = 20 * time.Millisecond
	addresses, log, stop := run(t, s)
	backend.Close() // before or after its first verdict: it goes down in any case
	limit := time.After(20 * time.Second)
	for seen := map[string]bool{}; !seen[webhook.EventDown] || !seen[webhook.EventPanicStarted]; {
		select {
		case n := <-heard:
			seen[n.Event] = true
			if n.Entrypoint != "http_app" || n.Text == "" || n.Event == webhook.EventDown && (n.Explain == nil || *n.Explain == "") {
				t.Errorf("%+v", n)
			}
		case <-limit:
			t.Fatalf("heard %v\n%s", seen, log)
		}
	}
	wantGet(t, addresses.Admin, addresses.Admin, "/metrics", 200, "fairlead_webhook_notices_sent_total ")
	if err := stop(); err != nil || strings.Contains(log.String(), canary) {
		t.Errorf("%v\n%s", err, log)
	}
}

func TestWebhookAddress(t *testing.T) {
	s := config.Default()
	s.Notify.Webhook.URL = route.Secret("ftp://" + canary)
	if _, err := New(Config{Settings: s}); err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "notify.webhook.url") {
		t.Errorf("%v", err)
	}
}
