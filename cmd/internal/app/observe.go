package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"

	"fairlead/api/metrics"
	"fairlead/cmd/internal/config"
	"fairlead/router/accesslog"
	"fairlead/router/proxy"
)

// newAccessLog makes the access log of the settings, nil when it is off.
func newAccessLog(s *config.Access, out io.Writer, logs Logs) *accesslog.Log {
	if s.Path == "" {
		return nil
	}
	cfg := accesslog.Config{
		Path: s.Path, MaxBytes: int64(s.MaxSizeMB) << 20, Keep: s.Keep, Query: accesslog.Query(s.Query), Sample: s.Sample,
		Log: logs.For("proxy"),
	}
	if s.Path == config.Stdout {
		cfg.Path, cfg.Out = "", out
	}
	return accesslog.New(cfg)
}

// accessLog is the log as the data plane takes it: nil when it is off.
func (a *App) accessLog() proxy.AccessLog {
	if a.access == nil {
		return nil // not an interface that holds a nil pointer
	}
	return a.access
}

// newMetrics makes what answers scrapes, nil when metrics are off.
func (a *App) newMetrics() http.Handler {
	if !a.cfg.Settings.Metrics.Enabled {
		return nil
	}
	cfg := metrics.Config{
		Viewer: a.controller, Unrouted: a.proxy.Unrouted(), Swaps: a.controller.Swaps, Version: a.cfg.Version, Revision: revision(),
		Probing: func() metrics.Probing {
			s := a.engine.Stats()
			p := metrics.Probing{Finished: s.Probes, Late: s.LateResults, Local: s.LocalErrors, Running: s.Running, Waiting: s.Waiting}
			p.Results, p.Took = a.engine.Measures()
			return p
		},
	}
	if a.webhook != nil {
		cfg.Webhook = func() metrics.Notices { return metrics.Notices(a.webhook.Stats()) }
	}
	if a.access != nil {
		cfg.Access = func() (lines, dropped uint64) {
			s := a.access.Stats()
			return s.Lines, s.Dropped
		}
	}
	return metrics.New(cfg).Handler(a.cfg.Logs.For("api"))
}

// revision is the commit that was built, "" when the toolchain did not record it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// openObservers opens the listener of metrics, nil when they have none of their own,
// and the file of the access log.
func (a *App) openObservers(ctx context.Context) (*net.TCPListener, error) {
	if a.access != nil {
		if err := a.access.Open(); err != nil {
			return nil, fmt.Errorf("log.access.path: %w", err)
		}
	}
	if a.metrics == nil {
		return nil, nil
	}
	return listen(ctx, a.cfg.Settings.Metrics.Listen, "metrics", "FAIRLEAD_METRICS_LISTEN", "metrics.listen")
}

// startObservers starts what must still work while the data plane ends.
func (a *App) startObservers(ctx context.Context, c *crew, scraped *net.TCPListener) {
	if a.access != nil {
		c.start(ctx, "access log", a.access.Run)
	}
	if scraped != nil {
		c.start(ctx, "metrics listener", func(ctx context.Context) error { return metrics.Serve(ctx, scraped, a.metrics) })
	}
	if a.webhook != nil {
		c.start(ctx, "webhook", a.webhook.Run)
	}
	c.start(ctx, "hangups", a.watchHangups)
}

// watchHangups opens log files anew at each hangup.
func (a *App) watchHangups(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.cfg.Hangup:
		}
		if path := a.cfg.Settings.Log.Access.Path; a.access == nil || path == config.Stdout {
			a.log.Info().Msg("hangup: there is no log file to open anew; the configuration is read at a start only")
			continue
		}
		a.log.Info().Msg("hangup: the access log is to be opened anew; the configuration is read at a start only")
		a.access.Reopen()
	}
}

// guardedMetrics are the metrics of the admin listener: none when they have their own.
func (a *App) guardedMetrics() http.Handler {
	if a.cfg.Settings.Metrics.Listen != "" {
		return nil
	}
	return a.metrics
}
