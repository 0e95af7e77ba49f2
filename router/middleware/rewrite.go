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
// out of it is refused.
func (f *rewrite) Before(x *exchange.Exchange) route.Reason {
	path, err := x.Path, error(nil)
	if f.add != "" {
		path, err = router.AddPrefix(path, f.add)
	} else if x.Route.Prefix != "" {
		path, err = router.StripPrefix(path, x.Route.Prefix)
		x.Prefix = x.Route.Prefix
	}
	if err != nil {
		return route.ReasonBadRequest
	}
	x.Path = path
	return route.ReasonNone
}
