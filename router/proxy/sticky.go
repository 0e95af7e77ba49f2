package proxy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// stickyKeySize is that of the key which New draws where none is given.
const stickyKeySize = 32

// stickiness is how an entrypoint keeps clients on their backends: a cookie whose value
// says nothing to anybody but a router with the same key.
type stickiness struct {
	name  string
	rest  string // the attributes that are always the same
	https bool   // Secure whatever the request came by
}

// newStickiness returns nil where sticky sessions are off.
func newStickiness(e *route.Entrypoint) *stickiness {
	o := &e.Options.Sticky
	if !o.On {
		return nil
	}
	s := &stickiness{name: o.Cookie, https: o.Secure}
	if s.name == "" {
		sum := sha256.Sum256([]byte(e.ID))
		s.name = "fl_" + hex.EncodeToString(sum[:4])
	}
	s.rest = "; Path=/"
	if seconds := int64(o.MaxAge / time.Second); seconds > 0 {
		s.rest += "; Max-Age=" + strconv.FormatInt(seconds, 10)
	}
	s.rest += "; HttpOnly"
	if o.SameSite != "" {
		s.rest += "; SameSite=" + o.SameSite
	}
	return s
}

// cookie is the Set-Cookie line (RFC 6265 section 4.1) that binds a client.
func (s *stickiness) cookie(value string, secure bool) string {
	line := s.name + "=" + value + s.rest
	if secure || s.https {
		line += "; Secure"
	}
	return line
}

// take returns what the client's cookie says, "" without one, and keeps the cookie from
// the backend: it is between the client and the router. Of several the first counts.
func (s *stickiness) take(x *exchange.Exchange) (value string) {
	var kept []string
	found := false
	x.Header.Each(func(name, line string) bool {
		if !strings.EqualFold(name, "Cookie") {
			return true
		}
		for pair := range strings.SplitSeq(line, ";") {
			pair = strings.TrimSpace(pair)
			key, v, _ := strings.Cut(pair, "=")
			switch {
			case key != s.name:
				if pair != "" {
					kept = append(kept, pair)
				}
			case !found:
				value, found = v, true
			}
		}
		return true
	})
	switch {
	case !found:
	case len(kept) == 0:
		x.DeleteHeader("Cookie")
	default:
		x.SetHeader("Cookie", strings.Join(kept, "; "))
	}
	return value
}

// secure reports whether the client speaks TLS, with us or with a trusted proxy.
func (p *Proxy) secure(x *exchange.Exchange) bool {
	return x.Secure || p.trusted(x.Peer.Addr().Unmap().WithZone("")) && strings.EqualFold(x.Header.Get("X-Forwarded-Proto"), "https")
}

// StickyName is what the cookies of an entrypoint's clients call one of its backends:
// opaque, equal for all routers with the same Config.StickyKey, and the same after a
// restart of the backend at its address. It is "" where sticky sessions are off.
func (p *Proxy) StickyName(e *route.Entrypoint, b *route.Backend) string {
	if !e.Options.Sticky.On {
		return ""
	}
	mac := hmac.New(sha256.New, p.cfg.StickyKey)
	for _, part := range [...]string{e.ID, b.ID, b.Address()} {
		mac.Write([]byte(part))
		mac.Write([]byte{0}) // none of them has one
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// newStickyKey draws a key that lasts as long as the process.
func newStickyKey() []byte {
	key := make([]byte, stickyKeySize)
	_, _ = rand.Read(key) // it never fails
	return key
}
