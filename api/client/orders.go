package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"fairlead/api"
	"fairlead/router/route"
)

// Order gives an order about a backend and returns its health after it. IsRefusal tells
// an order that was understood and not carried out.
func (c *Client) Order(ctx context.Context, entrypoint, backend string, action route.OrderAction, body api.OrderBody) (*api.BackendHealth, error) {
	var out api.BackendHealth
	if err := c.post(ctx, backendPath(entrypoint, backend)+"/"+string(action), body, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ProbeNow runs a backend's check and returns what it saw; without count the result
// changes nothing. The client's timeout must leave time for the probe's.
func (c *Client) ProbeNow(ctx context.Context, entrypoint, backend string, count bool) (*api.Probe, error) {
	var out api.Probe
	if err := c.post(ctx, backendPath(entrypoint, backend)+"/probe", api.ProbeBody{Count: count}, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

func backendPath(entrypoint, backend string) string {
	return "/entrypoints/" + url.PathEscape(entrypoint) + "/backends/" + url.PathEscape(backend)
}

// IsRefusal reports whether the router understood an order and does not carry it out: it
// would leave nothing to serve, means nothing now, comes too often, or is not for this
// user.
func IsRefusal(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests, http.StatusGatewayTimeout:
		return true
	}
	return false
}
