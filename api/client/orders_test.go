package client

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"fairlead/api"
	"fairlead/router/route"
)

// TestOrders: paths, bodies and answers of orders, and which answers are refusals.
func TestOrders(t *testing.T) {
	var path, kind, body string
	status, answer := http.StatusOK, `{"id":"b1","state":"draining"}`
	c, err := New(Config{User: "ops", Password: "x", URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		path, kind, body = r.Method+" "+r.URL.EscapedPath(), r.Header.Get("Content-Type"), string(all)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Order(t.Context(), "http_a/b", "[::1]:80", route.OrderDrain, api.OrderBody{Reason: "disk", For: "30m"})
	if err != nil || got.ID != "b1" || got.State != "draining" {
		t.Errorf("%+v %v", got, err)
	}
	if path != "POST /entrypoints/http_a%2Fb/backends/%5B::1%5D:80/drain" || kind != "application/json" || body != `{"reason":"disk","for":"30m"}` {
		t.Errorf("%s %s %s", path, kind, body)
	}
	answer = `{"address":"10.0.0.1:80","would_be":"success","counted":true}`
	probe, err := c.ProbeNow(t.Context(), "http_a", "b1", true)
	if err != nil || !probe.Counted || probe.WouldBe != "success" || path != "POST /entrypoints/http_a/backends/b1/probe" || body != `{"count":true}` {
		t.Errorf("%+v %v, asked %s %s", probe, err, path, body)
	}
	for code, refusal := range map[int]bool{
		http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusConflict: true, http.StatusTooManyRequests: true,
		http.StatusNotFound: false, http.StatusUnprocessableEntity: false, http.StatusInternalServerError: false,
	} {
		text, err := json.Marshal(api.Error{Message: "no", Code: "would_empty"})
		if err != nil {
			t.Fatal(err)
		}
		status, answer = code, string(text)
		_, orderErr := c.Order(t.Context(), "http_a", "b1", route.OrderReady, api.OrderBody{})
		_, probeErr := c.ProbeNow(t.Context(), "http_a", "b1", false)
		for _, err := range []error{orderErr, probeErr} {
			if err == nil || IsRefusal(err) != refusal {
				t.Errorf("%d: %v is a refusal: %v, want %v", code, err, !refusal, refusal)
			}
		}
	}
	if IsRefusal(io.EOF) {
		t.Error("a lost connection is a refusal")
	}
}
