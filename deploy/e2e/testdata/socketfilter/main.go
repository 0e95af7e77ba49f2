// Socketfilter stands in tests for a socket proxy: it lets through what the manual says
// that the router needs at least, and refuses the rest with 403 as HAProxy does.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

var allowed = regexp.MustCompile(`^(/v[0-9.]+)?/(_ping|version|events|containers/json|containers/[^/]+/json)$`)

func main() {
	engine := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", "/var/run/docker.sock")
		}},
		FlushInterval: -1, // events must not wait for the next one
	}
	filter := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead || !allowed.MatchString(r.URL.Path) {
			log.Printf("refused: %s %s", r.Method, r.URL.Path)
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		engine.ServeHTTP(w, r)
	}
	server := &http.Server{Addr: ":2375", Handler: http.HandlerFunc(filter), ReadHeaderTimeout: 10 * time.Second}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ended, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
