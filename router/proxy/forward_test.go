package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestServesARequest(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.Header().Set("X-Saw", req.Method+" "+req.RequestURI+" "+req.Host)
		_, _ = fmt.Fprintf(w, "hello %s", body)
	})})
	r.start()
	for range 3 {
		res, body := r.do(r.request("POST", "app.test:8080", "/a%2Fb//c?x=1&y", strings.NewReader("you")))
		if res.StatusCode != http.StatusOK || body != "hello you" || res.Header.Get("X-Saw") != "POST /a%2Fb//c?x=1&y app.test:8080" {
			t.Errorf("%d %q %v", res.StatusCode, body, res.Header)
		}
	}
	res, _ := r.get("other.test", "/")
	wantReason(t, res, 404, "no_route")
}
