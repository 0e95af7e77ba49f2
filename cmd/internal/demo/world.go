package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"fairlead/cmd/internal/whoami"
)

// site is one entrypoint of the demo and the backends behind it.
type site struct {
	name     string // the host is name.localhost
	about    string
	check    string // path of the health check
	more     string // further keys of the config, one line each
	backends []backend
}

// backend is one embedded server, or none where one should be.
type backend struct {
	name  string
	delay time.Duration // before each answer
	flaps time.Duration // how long it is well, and then ill, in turn; 0 is never ill
	dead  bool          // nobody listens
	moody bool          // its health is well and its pages are not

	address *net.TCPAddr
}

// world is everything behind the router.
type world struct {
	sites []*site
}

// newWorld describes the sites.
func newWorld() *world {
	return &world{sites: []*site{
		{name: "shop", about: "two good replicas; also /ws (WebSocket) and /sse (events)", check: "/health",
			backends: []backend{{name: "shop-1"}, {name: "shop-2"}}},
		{name: "slow", about: "one replica is fast, the other takes 700 ms", check: "/health",
			backends: []backend{{name: "slow-1"}, {name: "slow-2", delay: 700 * time.Millisecond}}},
		{name: "flappy", about: "one replica is ill every other 15 seconds", check: "/health",
			backends: []backend{{name: "flappy-1"}, {name: "flappy-2", flaps: 15 * time.Second}}},
		{name: "half", about: "one replica is dead; the other serves", check: "/health",
			backends: []backend{{name: "half-1"}, {name: "half-2", dead: true}}},
		{name: "moody", about: "one replica passes its check and fails its visitors; their requests take it out (ejected)", check: "/health",
			more: "passive: {failures: 3, ejection_time_ms: 20000, recovery: trial}", backends: []backend{{name: "moody-1"}, {name: "moody-2", moody: true}}},
		{name: "wiki", about: "the check asks for a path that is not there, so nothing is verified; it serves all the same (panic)",
			check: "/no-such-page", backends: []backend{{name: "wiki-1"}, {name: "wiki-2"}}},
	}}
}

// listen gives every backend an address; a dead one gets one where nobody listens.
func (w *world) listen(ctx context.Context) (map[*backend]net.Listener, error) {
	open := map[*backend]net.Listener{}
	for _, s := range w.sites {
		for i := range s.backends {
			b := &s.backends[i]
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				closeAll(open)
				return nil, err
			}
			b.address, _ = l.Addr().(*net.TCPAddr)
			if b.dead {
				_ = l.Close()
				continue
			}
			open[b] = l
		}
	}
	return open, nil
}

func closeAll(open map[*backend]net.Listener) {
	for _, l := range open {
		_ = l.Close()
	}
}

// run serves every backend until ctx ends and returns after all of them.
func (w *world) run(ctx context.Context, open map[*backend]net.Listener) {
	var all sync.WaitGroup
	for b, l := range open {
		health := &whoami.Switch{}
		all.Go(func() {
			cfg := whoami.Config{Name: b.name, Delay: b.delay, Drain: time.Second, Health: health}
			if b.moody {
				cfg.Status = http.StatusServiceUnavailable
			}
			_ = whoami.Run(ctx, cfg, l)
		})
		if b.flaps > 0 {
			all.Go(func() { flap(ctx, health, b.flaps) })
		}
	}
	all.Wait()
}

// flap turns a backend's health over.
func flap(ctx context.Context, health *whoami.Switch, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ill := true; ; ill = !ill {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			health.SetIll(ill)
		}
	}
}

// file is the sites as the file provider reads them.
func (w *world) file() string {
	var b strings.Builder
	b.WriteString("# Entrypoints of the demo. The router watches this file: change it and look at the dashboard.\nentrypoints:\n")
	for _, s := range w.sites {
		fmt.Fprintf(&b, "  - name: %s\n    protocol: Http\n    backends:\n", s.name)
		for i := range s.backends {
			fmt.Fprintf(&b, "      - {address: 127.0.0.1, port: %d}\n", s.backends[i].address.Port)
		}
		fmt.Fprintf(&b, "    config:\n      hostnames: [%s.localhost]\n"+
			"      health_check: {path: %s, interval_ms: 2000, unhealthy_threshold: 2, healthy_threshold: 2}\n", s.name, s.check)
		if s.more != "" {
			b.WriteString("      " + s.more + "\n")
		}
	}
	return b.String()
}
