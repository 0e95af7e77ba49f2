package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"fairlead/router"
)

// Bounds of what can be asked to be explained.
const (
	maxAskedURL     = 16 << 10
	maxAskedHeaders = 100
)

// resolve answers GET /resolve. Nothing is sent to a backend, and neither the URL
// nor the headers are logged: they may hold secrets.
func (s *Server) resolve(r *http.Request) (reply, *Error) {
	query, err := queryOf(r, "url", "method", "header", "client_ip")
	if err != nil {
		return reply{}, err
	}
	q, err := askedOf(query)
	if err != nil {
		return reply{}, err
	}
	return reply{body: router.Resolve(s.cfg.Viewer.View(), q)}, nil
}

// askedOf reads what is to be explained.
func askedOf(query url.Values) (router.Query, *Error) {
	q := router.Query{URL: query.Get("url"), Method: query.Get("method"), Headers: map[string][]string{}}
	switch {
	case q.URL == "":
		return q, badParameter("url", "url is missing: ask for /resolve?url=http://app.example.com/path")
	case len(q.URL) > maxAskedURL:
		return q, badParameter("url", "url is longer than %d bytes", maxAskedURL)
	case len(query["header"]) > maxAskedHeaders:
		return q, badParameter("header", "more than %d headers", maxAskedHeaders)
	}
	for _, h := range query["header"] {
		name, value, found := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !found || name == "" {
			return q, badParameter("header", "write a header as Name: value")
		}
		q.Headers[name] = append(q.Headers[name], strings.TrimSpace(value))
	}
	if text := query.Get("client_ip"); text != "" {
		addr, parseErr := netip.ParseAddr(text)
		if parseErr != nil {
			return q, badParameter("client_ip", "client_ip is an IP address such as 203.0.113.7")
		}
		q.ClientIP = addr.Unmap()
	}
	return q, nil
}
