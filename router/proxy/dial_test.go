package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestDialFailures: each has its reason, its status and its kind.
func TestDialFailures(t *testing.T) {
	secure, _ := newTLSBackend(t)
	for _, tt := range []struct {
		name, backend string
		change        func(*Config)
		status        int
		reason        route.Reason
		kind          route.Kind
	}{
		{"refused", closedAddress(t), nil, 502, route.ReasonConnectRefused, route.KindConnectionRefused},
		{"no route", "127.0.0.1:1", dialing(syscall.EHOSTUNREACH), 502, route.ReasonConnectFailed, route.KindNoRouteToHost},
		{"no network", "127.0.0.1:1", dialing(syscall.ENETUNREACH), 502, route.ReasonConnectFailed, route.KindNetworkUnreachable},
		{"timeout", "127.0.0.1:1", dialing(context.DeadlineExceeded), 504, route.ReasonConnectTimeout, route.KindTimeout},
		{"name", "db.internal:80", func(c *Config) {
			c.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, &net.DNSError{Err: "no such host"} }
		}, 502, route.ReasonConnectFailed, route.KindDNSFailure},
		{"name without an address", "db.internal:80", func(c *Config) {
			c.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, nil }
		}, 502, route.ReasonConnectFailed, route.KindDNSFailure},
		{"unknown authority", "https://" + secure, nil, 502, route.ReasonTLSFailed, route.KindTLSFailure},
		{"plain port", "https://" + serveHTTP(t, func(http.ResponseWriter, *http.Request) {}), nil, 502, route.ReasonTLSFailed, route.KindTLSFailure},
	} {
		r := newRig(t, func(c *Config) {
			if tt.change != nil {
				tt.change(c)
			}
		})
		r.route("app.test", []string{tt.backend}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
		r.start()
		res, _ := r.get("app.test", "/")
		t.Run(tt.name, func(t *testing.T) {
			wantReason(t, res, tt.status, tt.reason)
			if got := r.outcomes.all(); len(got) != 1 || got[0].Kind != tt.kind || !got[0].Transport {
				t.Errorf("outcomes %+v", got)
			}
		})
	}
}

func dialing(err error) func(*Config) {
	return func(c *Config) {
		c.Dial = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: err}
		}
	}
}

// TestLocalFaultsBlameNobody: too many open files say nothing about a backend.
func TestLocalFaultsBlameNobody(t *testing.T) {
	r := newRig(t, dialing(syscall.EMFILE))
	r.route("app.test", []string{"127.0.0.1:1"})
	r.start()
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 502, route.ReasonConnectFailed)
	if got := r.outcomes.all(); len(got) != 0 {
		t.Errorf("outcomes %+v", got)
	}
}

// TestBlockedTargetsAreNotDialled: traffic obeys the deny list of the probes, for
// the address that a name turns out to have, too.
func TestBlockedTargetsAreNotDialled(t *testing.T) {
	for _, tt := range []struct {
		name, backend string
		addresses     []string
		loopback      bool
		dialled       string
	}{
		{name: "metadata", backend: "169.254.169.254:80"},
		{name: "mapped metadata", backend: "[::ffff:169.254.169.254]:80"},
		{name: "unspecified", backend: "0.0.0.0:80"},
		{name: "loopback", backend: "127.0.0.1:80"},
		{name: "loopback of the provider", backend: "127.0.0.1:80", loopback: true, dialled: "127.0.0.1:80"},
		{name: "rebound name", backend: "app.internal:80", addresses: []string{"169.254.169.254"}},
		{name: "name with one good address", backend: "app.internal:80", addresses: []string{"169.254.169.254", "172.17.0.2"}, dialled: "172.17.0.2:80"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var dialled []string
			r := newRig(t, func(c *Config) {
				c.AllowLoopback = false
				c.Resolve = func(context.Context, string) ([]netip.Addr, error) {
					var all []netip.Addr
					for _, a := range tt.addresses {
						all = append(all, netip.MustParseAddr(a))
					}
					return all, nil
				}
				c.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
					mu.Lock()
					defer mu.Unlock()
					dialled = append(dialled, address)
					return nil, errors.New("not in a test")
				}
			})
			r.route("app.test", []string{tt.backend}, func(e *route.Entrypoint) {
				e.Options.RetryAttempts = 1
				e.Backends[0].Loopback = tt.loopback
			})
			r.start()
			res, _ := r.get("app.test", "/")
			wantReason(t, res, 502, route.ReasonConnectFailed)
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(dialled, ","); got != tt.dialled {
				t.Errorf("dialled %q, want %q", got, tt.dialled)
			}
		})
	}
}

// TestBlackHoleAmongAddresses: one address that swallows packets leaves time for the next.
func TestBlackHoleAmongAddresses(t *testing.T) {
	good := serveHTTP(t, func(http.ResponseWriter, *http.Request) {})
	r := newRig(t, func(c *Config) {
		c.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}, nil
		}
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "127.0.0.2:") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	_, port, _ := net.SplitHostPort(good)
	r.route("app.test", []string{"app.internal:" + port}, func(e *route.Entrypoint) { e.Backends[0].DialTimeout = 200 * time.Millisecond })
	r.start()
	if res, _ := r.get("app.test", "/"); res.StatusCode != http.StatusOK {
		t.Errorf("status %d %v", res.StatusCode, res.Header)
	}
}

// swallows is a Dial that never gets an answer from one address.
func swallows(hole string) func(*Config) {
	return func(c *Config) {
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == hole {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
}

// TestBackendTimeoutIsNotOfTheDial: a backend that does not accept in dialTimeout was sent
// nothing, so another one is asked, however short backendTimeout is.
func TestBackendTimeoutIsNotOfTheDial(t *testing.T) {
	const hole = "127.0.0.1:9"
	short := func(e *route.Entrypoint) {
		e.Options.BackendTimeout = 50 * time.Millisecond
		for i := range e.Backends {
			e.Backends[i].DialTimeout = 150 * time.Millisecond
		}
	}
	for request, status := range map[string]int{
		strings.Replace(upgradeRequest, "Upgrade: websocket", "", 1): http.StatusOK, postRequest: http.StatusOK, upgradeRequest: http.StatusSwitchingProtocols,
	} {
		r := newRig(t, swallows(hole))
		entry := r.route("app.test", []string{hole, serveRaw(t, switcher)}, short)
		r.route("alone.test", []string{hole}, short)
		r.start()
		for range 2 { // one of them goes to the hole first
			if a := <-r.sendRaw(request); a.err != nil || a.res.StatusCode != status {
				t.Errorf("%q: %+v", request, a)
			}
		}
		if placement(entry, 0).Load.Requests.Load() == 0 {
			t.Error("the hole was never tried")
		}
		for _, o := range r.outcomes.all() {
			if o.Transport && (o.Kind != route.KindTimeout || o.Placement != placement(entry, 0)) {
				t.Errorf("outcome %+v", o)
			}
		}
		a := <-r.sendRaw(strings.Replace(request, "app.test", "alone.test", 1))
		wantReason(t, a.res, 504, route.ReasonConnectTimeout)
	}
}
