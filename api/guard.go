package api

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

// guard decides whether a request may be answered at all.
type guard struct {
	hosts     map[string]bool // canonical names that pass besides localhost
	anonymous bool
	origins   *http.CrossOriginProtection
}

// newGuard ignores names that are no hosts, since they can only narrow, and logs them.
func newGuard(hosts []string, anonymous bool, log zerolog.Logger) *guard {
	g := &guard{hosts: map[string]bool{"localhost": true}, anonymous: anonymous, origins: http.NewCrossOriginProtection()}
	for _, h := range hosts {
		name, err := router.CanonicalHost(h)
		if err != nil {
			log.Warn().Str("host", quoted(h)).Err(err).Str(route.FieldHint, "write a name such as fairlead.example.com").
				Msg("admin.hosts: entry ignored")
			continue
		}
		g.hosts[name] = true
	}
	return g
}

// check returns nil when the request may be answered, whoever asks.
func (g *guard) check(r *http.Request) *Error {
	if !g.hostAllowed(r.Host) {
		return forbidden(CodeBadHost, "the host %s is not one that the admin listener answers to: use its address or localhost, or add the name to admin.hosts", quoted(r.Host))
	}
	if err := g.origins.Check(r); err != nil {
		return forbidden(CodeCrossOrigin, crossOrigin)
	}
	return nil
}

// stranger returns nil when somebody without a user may read, where there are no users.
func (g *guard) stranger(r *http.Request) *Error {
	if g.anonymous || fromLoopback(r.RemoteAddr) {
		return nil
	}
	return forbidden(CodeForbidden, "only this machine may read without a user: connect over a loopback address, "+
		"add users to admin.users, or set admin.anonymous to read-only to let everybody read who reaches the port "+
		"(a published container port does not arrive from loopback)")
}

const crossOrigin = "refused: the request comes from a page of another origin"

// checkSocket returns nil when a WebSocket may be opened. The same-origin policy does
// not cover WebSockets: a page of another origin could read it, so it is held to the
// rules of requests that change something.
func (g *guard) checkSocket(r *http.Request) *Error {
	asWrite := *r
	asWrite.Method = http.MethodPost
	if err := g.origins.Check(&asWrite); err != nil {
		return forbidden(CodeCrossOrigin, crossOrigin)
	}
	return nil
}

// hostAllowed is the guard against DNS rebinding: the attack needs a name, so any
// address passes, and of names only localhost and those of the configuration. The
// port does not matter.
func (g *guard) hostAllowed(host string) bool {
	name, err := router.CanonicalHost(host)
	if err != nil {
		return false
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return g.hosts[name]
}

// fromLoopback reports whether the peer itself is on this machine. Forwarding
// headers are never read here.
func fromLoopback(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// quoted shows text of a stranger: short, in quotes, with everything escaped that
// does not print.
func quoted(s string) string {
	const limit = 100
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return strconv.QuoteToASCII(s)
}
