package cli

import (
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"fairlead/router/route"
)

// probeTarget is what is probed, as the router would have it from labels.
type probeTarget struct {
	backend route.Backend
	check   route.Check
}

// probeScheme is what a scheme of an address means.
type probeScheme struct {
	kind   route.ProbeType
	scheme route.Scheme
	port   uint16 // without one in the address; 0: there must be one
}

func probeSchemes() map[string]probeScheme {
	return map[string]probeScheme{
		"tcp":   {kind: route.ProbeTCP},
		"tls":   {kind: route.ProbeTLS, port: 443},
		"http":  {route.ProbeHTTP, route.SchemeHTTP, 80},
		"https": {route.ProbeHTTP, route.SchemeHTTPS, 443},
		"grpc":  {kind: route.ProbeGRPC, scheme: route.SchemeHTTP},
		"grpcs": {route.ProbeGRPC, route.SchemeHTTPS, 443},
		"ws":    {route.ProbeWebSocket, route.SchemeHTTP, 80},
		"wss":   {route.ProbeWebSocket, route.SchemeHTTPS, 443},
	}
}

// addressForms is how an address is written.
const addressForms = "write host:port, or a URL such as http://host:port/path, tls://host:port, grpc://host:port or ws://host:port/path"

// target reads the address and the flags. Errors repeat neither: a URL may hold secrets.
func (o *probeOptions) target(address string) (*probeTarget, error) {
	if !strings.Contains(address, "://") {
		if strings.ContainsAny(address, "/?@") {
			return nil, usage(addressForms, "the address is neither host:port nor a URL with a scheme")
		}
		address = "tcp://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, usage(addressForms, "the address cannot be read")
	}
	scheme, known := probeSchemes()[u.Scheme]
	switch {
	case !known:
		return nil, usage(addressForms, "there is no probe for the scheme %s", printable(u.Scheme))
	case u.User != nil:
		return nil, usage("send them with -H 'Authorization: ...'", "credentials do not belong in the address")
	case u.Fragment != "":
		return nil, usage("remove # and what follows", "a fragment is never sent")
	case u.Hostname() == "":
		return nil, usage(addressForms, "the address names no host")
	}
	t := &probeTarget{backend: route.Backend{Host: u.Hostname(), Port: scheme.port, Incarnation: "probe"}, check: route.DefaultCheck()}
	if err := t.setPort(u); err != nil {
		return nil, err
	}
	c := &t.check
	c.Type, c.Scheme, c.Timeout = scheme.kind, scheme.scheme, o.timeout
	if c.Type == route.ProbeHTTP || c.Type == route.ProbeWebSocket {
		c.Path = u.RequestURI()
	} else if strings.Trim(u.RequestURI(), "/") != "" {
		return nil, usage("remove what follows the port; a service goes into --grpc-service", "a %s probe asks for no path", c.Type)
	}
	return t, o.apply(c)
}

func (t *probeTarget) setPort(u *url.URL) error {
	if _, port, err := net.SplitHostPort(u.Host); err == nil || t.backend.Port == 0 {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return usage(addressForms+"; a backend of a route is probed with fairlead probe ENTRYPOINT BACKEND", "the address has no port between 1 and 65535")
		}
		t.backend.Port = uint16(n)
	}
	t.check.Port = t.backend.Port
	return nil
}

// apply takes the flags over into the check.
func (o *probeOptions) apply(c *route.Check) error {
	if err := o.fit(c); err != nil {
		return err
	}
	if err := o.inRange(); err != nil {
		return err
	}
	c.Host, c.SNI, c.GRPCService = o.host, o.sni, o.grpcService
	c.FollowRedirects, c.BodyContains, c.BodyRegex = o.followRedirects, o.contains, o.regex
	if o.method != "" {
		c.Method = strings.ToUpper(o.method)
	}
	if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, c.Method) {
		return usage("give GET, HEAD or OPTIONS", "--method is none that a probe may use")
	}
	if c.Method == http.MethodHead && o.contains+o.regex != "" {
		return usage("give --method GET", "an answer to HEAD has no body to look into")
	}
	if _, err := regexp.Compile(o.regex); err != nil {
		return usage("see https://github.com/google/re2/wiki/Syntax", "--regex is no expression: %v", err)
	}
	if o.status != "" {
		set, err := route.ParseStatusSet(o.status)
		if err != nil {
			return usage("give a list such as 200,204 or 2xx,!204", "--status: %v", err)
		}
		c.Status = set
	}
	return o.setHeaders(c)
}

// setHeaders reads -H. Values are never repeated in errors.
func (o *probeOptions) setHeaders(c *route.Check) error {
	for i, h := range o.headers {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return usage("write -H 'Name: value'", "the %s -H is not a header", ordinal(i+1))
		}
		if strings.EqualFold(name, "Host") {
			c.Host = value
			continue
		}
		c.Headers = append(c.Headers, route.CheckHeader{Name: name, Value: route.Secret(value)})
	}
	return nil
}

// fit refuses flags that the kind of probe has no use for.
func (o *probeOptions) fit(c *route.Check) error {
	byHTTP, web := c.Type == route.ProbeHTTP, c.Type != route.ProbeTCP && c.Type != route.ProbeTLS
	secure := c.Type == route.ProbeTLS || c.Scheme == route.SchemeHTTPS
	for _, f := range []struct {
		name  string
		given bool
		fits  bool
		wants string
	}{
		{"--method", o.method != "", byHTTP, "http or https"},
		{"--status", o.status != "", byHTTP, "http or https"},
		{"--contains", o.contains != "", byHTTP, "http or https"},
		{"--regex", o.regex != "", byHTTP, "http or https"},
		{"--follow-redirects", o.followRedirects, byHTTP, "http or https"},
		{"--header", len(o.headers) > 0, web, "http, https, grpc, grpcs, ws or wss"},
		{"--host", o.host != "", web || secure, "http, https, tls, grpc, grpcs, ws or wss"},
		{"--grpc-service", o.grpcService != "", c.Type == route.ProbeGRPC, "grpc or grpcs"},
		{"--sni", o.sni != "", secure, "https, tls, grpcs or wss"},
		{"--insecure", o.insecure, secure, "https, tls, grpcs or wss"},
		{"--ca", o.ca != "", secure, "https, tls, grpcs or wss"},
		{"--cert", o.cert != "", secure, "https, tls, grpcs or wss"},
		{"--key", o.key != "", secure, "https, tls, grpcs or wss"},
	} {
		if f.given && !f.fits {
			return usage("give a URL with the scheme "+f.wants+", or remove the flag", "%s has no meaning for this kind of probe", f.name)
		}
	}
	return nil
}

func (o *probeOptions) inRange() error {
	switch {
	case o.timeout < 10*time.Millisecond || o.timeout > 5*time.Minute:
		return usage("give one from 10ms to 5m", "--timeout is out of range")
	case o.count < 1 || o.count > 1000:
		return usage("give one from 1 to 1000", "--count is out of range")
	case o.interval < 100*time.Millisecond || o.interval > time.Hour:
		return usage("give one from 100ms to 1h", "--interval is out of range")
	case len(o.grpcService) > 255 || strings.ContainsFunc(o.grpcService, func(r rune) bool { return r <= ' ' || r > '~' }):
		return usage("give a name such as shop.v1.Cart", "--grpc-service is no name of a service")
	}
	return nil
}
