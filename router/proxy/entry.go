package proxy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/route"
)

// Front checks that end a request with something else than a 400.
var (
	errNoHost  = errors.New("HTTP/1.0 without a Host field")
	errTooLong = errors.New("the request line is longer than the router's limit")
)

// handle serves one exchange; target is the raw request target. A panic costs this
// request only.
func (p *Proxy) handle(x *exchange.Exchange, target string) {
	x.Began = time.Now()
	if log := p.cfg.Access; log != nil {
		defer log.Log(x, target) // after the answer to a panic
	}
	defer func() {
		if v := recover(); v != nil {
			p.panicked(x, v)
			if x.Response.Begun() {
				x.Reason = reasonInternal
				x.Response.Abort()
				return
			}
			p.answer(x, 500, reasonInternal, nil)
		}
	}()
	switch {
	case !exchange.IsToken(x.Verb):
		p.refuseTarget(x, errors.New("the method is not a token (RFC 9110 section 9.1)"))
	case x.Verb == "CONNECT": // never forwarded, on no version (RFC 9110 section 9.3.6)
		x.Response.CloseAfter()
		p.answer(x, 405, route.ReasonBadRequest, []field{{"Allow", allowedMethods}})
	case x.Verb == "OPTIONS" && target == "*":
		p.answer(x, 200, route.ReasonNone, []field{{"Allow", allowedMethods}})
	default:
		err := p.setTarget(x, target)
		if err == nil {
			err = checkTrailer(x.Trailer)
		}
		if err != nil {
			p.refuseTarget(x, err)
			return
		}
		p.route(x)
	}
}

// checkTrailer checks the announced trailer names.
func checkTrailer(h exchange.Header) (err error) {
	if h == nil {
		return nil
	}
	h.Each(func(name, _ string) bool {
		if !exchange.IsToken(name) {
			err = errors.New("an announced trailer field has a name that is not a token (RFC 9110 section 5.1)")
		}
		return err == nil
	})
	return err
}

const allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

// reasonInternal is what a bug of ours is called on the wire.
const reasonInternal route.Reason = "internal_error"

func (p *Proxy) refuseTarget(x *exchange.Exchange, err error) {
	p.cfg.Log.Debug().AnErr(route.FieldCause, err).Str(route.FieldReason, string(route.ReasonBadRequest)).Msg("request refused")
	switch {
	case errors.Is(err, errNoHost):
		p.refuse(x, route.ReasonNoRoute)
	case errors.Is(err, errTooLong):
		x.Response.CloseAfter()
		p.refuse(x, route.ReasonHeadersTooLarge)
	default:
		x.Response.CloseAfter()
		p.refuse(x, route.ReasonBadRequest)
	}
}

// setTarget reads the request target and the host of an exchange (RFC 9112 section
// 3.2). Absolute form was resolved into Authority by the front.
func (p *Proxy) setTarget(x *exchange.Exchange, target string) error {
	if limit := p.cfg.Limits.RequestLineBytes; len(x.Verb)+len(target)+len(" HTTP/1.1")+1 > limit {
		return fmt.Errorf("%w of %d bytes", errTooLong, limit)
	}
	if strings.IndexByte(target, '#') >= 0 {
		return errors.New("the request target has a fragment")
	}
	raw, query, mark := strings.Cut(target, "?")
	raw, err := originForm(raw, x.Major)
	if err != nil {
		return err
	}
	for i := range len(query) {
		if c := query[i]; c < 0x21 || c == 0x7f {
			return errors.New("the query holds a control character or a space")
		}
	}
	path, err := router.CanonicalPath(raw)
	if err != nil {
		return err
	}
	x.Path, x.RawQuery, x.QueryMark = path, query, mark
	if x.Authority == "" && x.Major == 1 && x.Minor == 0 {
		return errNoHost
	}
	x.HostName, err = router.CanonicalHost(x.Authority)
	return err
}

// originForm takes the path out of a target in absolute form, which HTTP/2 has not
// (RFC 9113 section 8.3.1).
func originForm(raw string, major int) (string, error) {
	if strings.HasPrefix(raw, "/") {
		return raw, nil
	}
	scheme, rest, absolute := strings.Cut(raw, "://")
	authority, path, _ := strings.Cut(rest, "/")
	switch {
	case !absolute || major >= 2:
		return "", errors.New("the request target does not begin with a slash")
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return "", errors.New("the scheme of the request target is neither http nor https")
	case authority == "":
		return "", errors.New("the request target has no host")
	}
	return "/" + path, nil
}

// route finds the route of an exchange, runs its filters and forwards it.
func (p *Proxy) route(x *exchange.Exchange) {
	p.setClient(x)
	held := stay{ended: p.holds.ended}
	defer held.leave()
	r, reason := p.match(x, &held)
	if reason != route.ReasonNone {
		p.refuse(x, reason)
		return
	}
	p.setForwarding(x)
	var sticky *stickiness
	if made, ok := r.Prepared.(*prepared); ok {
		if reason := made.filters.Before(x); reason != route.ReasonNone {
			p.refuse(x, reason)
			return
		}
		sticky = made.sticky
	}
	r.Cell.InFlight.Add(1)
	defer r.Cell.InFlight.Add(-1)
	p.forward(x, r, sticky, &held)
}

// match finds the route of an exchange. While nothing serves it because its backends
// are being replaced the request is held, and the table is asked again: the new
// backends may have brought another route.
func (p *Proxy) match(x *exchange.Exchange, held *stay) (*router.Route, route.Reason) {
	for {
		r := p.tables.Table().Match(x)
		x.Route = r
		if r == nil {
			return nil, route.ReasonNoRoute
		}
		if r.Entrypoint.FailClosed != nil {
			return nil, route.ReasonMisconfigured
		}
		rot := r.Cell.Load()
		if len(rot.Members) > 0 || len(rot.Sticky) > 0 {
			return r, route.ReasonNone
		}
		if reason := held.forRotation(x, r, rot, rot.Reason); reason != route.ReasonNone {
			return r, reason
		}
	}
}
