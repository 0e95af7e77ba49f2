package proxy

import (
	"errors"
	"strings"

	"fairlead/router"
	"fairlead/router/exchange"
)

// errNoHost is an HTTP/1.0 request without Host: no route, not malformed.
var errNoHost = errors.New("HTTP/1.0 without a Host field")

// setTarget reads the request target and the host of an exchange (RFC 9112 section
// 3.2). target is the raw request line's target or the :path of HTTP/2. Absolute
// form was resolved into Authority by the front. An error means 400, errNoHost 404.
func setTarget(x *exchange.Exchange, target string) error {
	if strings.IndexByte(target, '#') >= 0 {
		return errors.New("the request target has a fragment")
	}
	raw, query, _ := strings.Cut(target, "?")
	if i := strings.Index(raw, "://"); i > 0 && raw[0] != '/' {
		if j := strings.IndexByte(raw[i+3:], '/'); j >= 0 {
			raw = raw[i+3+j:]
		} else {
			raw = "/"
		}
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
	x.Path, x.RawQuery = path, query
	if x.Authority == "" && x.Major == 1 && x.Minor == 0 {
		return errNoHost
	}
	x.HostName, err = router.CanonicalHost(x.Authority)
	return err
}
