package middleware

import (
	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/route"
)

// rewrite strips and adds prefixes (labels stripPrefix, addPrefix; with both,
// addPrefix alone is done).
type rewrite struct {
	strip bool
	add   string
}

func newRewrite(o *route.Options) (*rewrite, bool) {
	f := &rewrite{strip: o.StripPrefix && o.AddPrefix == "", add: o.AddPrefix}
	return f, f.strip || f.add != ""
}

// Before implements Filter. The rewritten path is checked again: what would climb
// out of it is refused. What was stripped follows what trusted proxies before us
// stripped, in X-Forwarded-Prefix.
func (f *rewrite) Before(x *exchange.Exchange) route.Reason {
	var err error
	switch {
	case f.add != "":
		x.Path, err = router.AddPrefix(x.Path, f.add)
	case x.Route.Prefix != "":
		x.Path, err = router.StripPrefix(x.Path, x.Route.Prefix)
		x.Prefix += x.Route.Prefix
		x.SetHeader("X-Forwarded-Prefix", x.Prefix)
	}
	if err != nil {
		return route.ReasonBadRequest
	}
	return route.ReasonNone
}
