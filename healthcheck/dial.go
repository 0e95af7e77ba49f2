package healthcheck

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"fairlead/router/route"
)

// dialer opens a probe's connection: it resolves the name, checks the addresses and
// dials one of exactly those, so that no second look-up can lead elsewhere.
type dialer struct {
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	resolve   func(ctx context.Context, host string) ([]netip.Addr, error)
	loopback  bool
	linkLocal bool
}

// connect returns an open connection, or nil and a failed result. The result's
// phases and remote address are filled in either way.
func (d *dialer) connect(ctx context.Context, t Target, watch *stopwatch) (net.Conn, Result) {
	r := newResult()
	addrs, err := d.lookup(ctx, t.Host)
	r.Phases.DNS = watch.lap()
	if err != nil {
		return nil, r.fail(classify(err, phaseDNS))
	}
	allowed, why := d.permitted(addrs, t.Loopback)
	if len(allowed) == 0 {
		return nil, r.fail(verdict{kind: route.KindProbeBlocked, message: "the target is never probed: it is " + why})
	}
	for i, addr := range allowed {
		r.Remote = netip.AddrPortFrom(addr, t.Port).String()
		var conn net.Conn
		conn, err = d.attempt(ctx, r.Remote, len(allowed)-i)
		if err == nil {
			r.Phases.Connect = watch.lap()
			return conn, r
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, r.fail(classify(err, phaseConnect))
}

// lookup returns the addresses of a host; an IP literal is its own.
func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if host == "" {
		return nil, errNoAddress
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := d.resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = errNoAddress
	}
	return addrs, err
}

var errNoAddress = errors.New("the target has no address")

// permitted keeps the addresses that may be dialled and says why the last one may not.
func (d *dialer) permitted(addrs []netip.Addr, loopback bool) (allowed []netip.Addr, why string) {
	for _, addr := range addrs {
		reason := route.BlockedTarget(addr, loopback || d.loopback)
		if reason != "" && d.linkLocal && addr.Unmap().IsLinkLocalUnicast() && addr.Unmap() != metadataService {
			reason = ""
		}
		if reason == "" {
			allowed = append(allowed, addr.Unmap())
		} else {
			why = reason
		}
	}
	return allowed, why
}

// metadataService stays refused even where link-local addresses are allowed.
var metadataService = netip.AddrFrom4([4]byte{169, 254, 169, 254})

// attempt dials one of several addresses with a fair part of the time that is left,
// so that a black hole among them does not use up all of it.
func (d *dialer) attempt(ctx context.Context, address string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		part, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
		ctx = part
	}
	return d.dial(ctx, "tcp", address)
}

// fail completes a result with a verdict.
func (r Result) fail(v verdict) Result {
	r.OK, r.Kind, r.Message, r.clue = false, v.kind, v.message, v.clue
	return r
}
