package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// maxScrapes bounds the scrapes at once; more are told to come later.
const maxScrapes = 4

// Handler answers scrapes with our series and those of the Go runtime and the process.
// It does not look at the path.
func (c *Collector) Handler(log zerolog.Logger) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		// One series that is wrong must not hide the others.
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: errorLog{log}, MaxRequestsInFlight: maxScrapes,
	})
}

// errorLog takes what promhttp says about a scrape.
type errorLog struct{ log zerolog.Logger }

// Println implements promhttp.Logger.
func (l errorLog) Println(v ...any) { l.log.Warn().Str("detail", fmt.Sprint(v...)).Msg("metrics") }

// Limits of a listener for metrics alone.
const (
	readTimeout    = 10 * time.Second
	writeTimeout   = 60 * time.Second
	idleTimeout    = 5 * time.Minute // longer than the pause between scrapes
	maxHeaderBytes = 16 << 10
	closeTimeout   = 2 * time.Second
)

// Serve answers GET /metrics on l, and nothing else, until ctx ends; it then lets
// running scrapes finish for a moment and returns nil. It closes l.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	srv := &http.Server{
		Handler: mux, ReadTimeout: readTimeout, ReadHeaderTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: log.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("metrics listener %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := srv.Shutdown(limit); err != nil {
		_ = srv.Close() // cut what did not end in time
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics listener %s: %w", l.Addr(), err)
	}
	return nil
}
