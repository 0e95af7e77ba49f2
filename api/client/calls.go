package client

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"fairlead/api"
	"fairlead/router"
)

// Filter narrows a list of entrypoints. The zero value asks for all.
type Filter struct {
	Query    string   // words that must all be found in names, hosts, paths, addresses
	States   []string // ok, partial, panic, down, pending, unchecked
	Source   string
	Protocol string // http, tcp, udp
	// PageSize splits the list into several requests; 0 asks for it at once.
	PageSize int
}

// Entrypoints returns the entrypoints that match, sorted by id; pages are followed.
func (c *Client) Entrypoints(ctx context.Context, f Filter) ([]api.Entrypoint, error) {
	query := url.Values{}
	for name, value := range map[string]string{
		"q": f.Query, "state": strings.Join(f.States, ","), "source": f.Source, "protocol": f.Protocol,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.PageSize > 0 {
		query.Set("limit", strconv.Itoa(f.PageSize))
	}
	all := []api.Entrypoint{}
	a, err := c.get(ctx, "/entrypoints", query)
	for {
		var page []api.Entrypoint
		if err != nil {
			return nil, err
		}
		if err := c.decode(a, &page); err != nil {
			return nil, err
		}
		all = append(all, page...)
		next := nextPage(a)
		if next == nil || len(page) == 0 {
			return all, nil
		}
		a, err = c.fetch(ctx, next)
	}
}

// nextPage reads the Link header (RFC 8288). A link to another origin is not
// followed: the credentials are not for it.
func nextPage(a *answer) *url.URL {
	for link := range strings.SplitSeq(a.header.Get("Link"), ",") {
		target, params, ok := strings.Cut(strings.TrimSpace(link), ">")
		if !ok || !strings.HasPrefix(target, "<") || !strings.Contains(params, `rel="next"`) {
			continue
		}
		next, err := a.url.Parse(target[1:])
		if err == nil && next.Host == a.url.Host && next.Scheme == a.url.Scheme {
			return next
		}
	}
	return nil
}

// Entrypoint returns one entrypoint with its history. IsNotFound tells an unknown id.
func (c *Client) Entrypoint(ctx context.Context, id string) (*api.Entrypoint, error) {
	var out api.Entrypoint
	if err := c.fetchJSON(ctx, "/entrypoints/"+url.PathEscape(id), nil, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// Backends returns the health of an entrypoint's backends.
func (c *Client) Backends(ctx context.Context, id string) ([]api.BackendHealth, error) {
	var out []api.BackendHealth
	err := c.fetchJSON(ctx, "/entrypoints/"+url.PathEscape(id)+"/backends", nil, &out)
	return out, err
}

// History returns the transitions of one backend, oldest first.
func (c *Client) History(ctx context.Context, id, backend string) ([]api.Transition, error) {
	var out []api.Transition
	err := c.fetchJSON(ctx, "/entrypoints/"+url.PathEscape(id)+"/backends/"+url.PathEscape(backend)+"/history", nil, &out)
	return out, err
}

// Resolve returns the router's explanation of a request.
func (c *Client) Resolve(ctx context.Context, q router.Query) (*router.Resolution, error) {
	query := url.Values{"url": {q.URL}}
	if q.Method != "" {
		query.Set("method", q.Method)
	}
	for name, values := range q.Headers {
		for _, v := range values {
			query.Add("header", name+": "+v)
		}
	}
	if q.ClientIP != (netip.Addr{}) {
		query.Set("client_ip", q.ClientIP.String())
	}
	var out router.Resolution
	if err := c.fetchJSON(ctx, "/resolve", query, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// Checks returns every distinct check.
func (c *Client) Checks(ctx context.Context) ([]api.SharedCheck, error) {
	var out []api.SharedCheck
	err := c.fetchJSON(ctx, "/checks", nil, &out)
	return out, err
}

// Diagnostics returns the findings about candidates, and what is not routed.
func (c *Client) Diagnostics(ctx context.Context) (*api.Diagnostics, error) {
	var out api.Diagnostics
	if err := c.fetchJSON(ctx, "/diagnostics", nil, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// Providers returns the state of every provider.
func (c *Client) Providers(ctx context.Context) ([]api.Provider, error) {
	var out api.Providers
	err := c.fetchJSON(ctx, "/providers", nil, &out)
	return out.Providers, err
}

// Ready returns what /ready says; 503 is an answer, not an error.
func (c *Client) Ready(ctx context.Context) (*api.Ready, error) {
	a, err := c.get(ctx, "/ready", nil)
	if err != nil {
		return nil, err
	}
	var out api.Ready
	if err := c.decode(a, &out, http.StatusServiceUnavailable); err != nil {
		return nil, err
	}
	return &out, nil
}

// Healthy returns nil when the process answers.
func (c *Client) Healthy(ctx context.Context) error {
	var out api.Status
	return c.fetchJSON(ctx, "/healthy", nil, &out)
}

// Me returns who the router takes the caller for.
func (c *Client) Me(ctx context.Context) (*api.Me, error) {
	var out api.Me
	if err := c.fetchJSON(ctx, "/me", nil, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IsNotFound reports whether an error is the router's word that the id is unknown.
func IsNotFound(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Status == http.StatusNotFound && status.Code == api.CodeNotFound
}
