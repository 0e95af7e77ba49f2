// Package client asks the admin listener of a running router: the typed side of the
// API for the command line and for other programs.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fairlead/api"
)

// DefaultURL is where a router listens when nothing else is said.
const DefaultURL = "http://127.0.0.1:3035"

// DefaultTimeout bounds one request, the answer's body included.
const DefaultTimeout = 10 * time.Second

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 256 << 20

// Config says whom to ask.
type Config struct {
	// URL of the admin listener, with a path when it is behind a prefix; "" is
	// DefaultURL. A scheme may be left out.
	URL string
	// User and Password for HTTP Basic; no user sends none.
	User     string
	Password string
	// Timeout of one request; 0 is DefaultTimeout.
	Timeout time.Duration
	// UserAgent is sent with each request; "" is "fairlead".
	UserAgent string
}

// Client asks one router. It is safe for concurrent use. It follows no redirect and
// uses no proxy of the environment, so credentials go to the given URL alone.
type Client struct {
	base *url.URL
	cfg  Config
	http *http.Client
}

// New checks the configuration and contacts nobody.
func New(cfg Config) (*Client, error) {
	if cfg.URL == "" {
		cfg.URL = DefaultURL
	}
	text := cfg.URL
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the admin URL cannot be used: write it as in " + DefaultURL)
	}
	if base.User != nil {
		return nil, errors.New("the admin URL holds a user: set FAIRLEAD_USER and FAIRLEAD_PASSWORD instead")
	}
	base.RawQuery, base.Fragment = "", ""
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "fairlead"
	}
	return &Client{base: base, cfg: cfg, http: &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: cfg.Timeout}).DialContext,
			ResponseHeaderTimeout: cfg.Timeout,
			MaxIdleConns:          2,
			IdleConnTimeout:       10 * time.Second,
		},
		Timeout:       cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL returns the address that is asked, without credentials.
func (c *Client) URL() string { return c.base.String() }

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// answer is what came back for one request.
type answer struct {
	status int
	header http.Header
	body   []byte
	url    *url.URL
}

// get sends one GET. path is escaped already and begins with a slash.
func (c *Client) get(ctx context.Context, path string, query url.Values) (*answer, error) {
	target, err := url.Parse(c.base.String() + path)
	if err != nil {
		return nil, fmt.Errorf("admin URL: %w", err)
	}
	target.RawQuery = query.Encode()
	return c.fetch(ctx, target)
}

func (c *Client) fetch(ctx context.Context, target *url.URL) (*answer, error) {
	return c.send(ctx, http.MethodGet, target, nil)
}

// post sends one POST with a body in JSON and reads the answer. path is as in get.
func (c *Client) post(ctx context.Context, path string, body, into any) error {
	target, err := url.Parse(c.base.String() + path)
	if err != nil {
		return fmt.Errorf("admin URL: %w", err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("admin request: %w", err)
	}
	a, err := c.send(ctx, http.MethodPost, target, text)
	if err != nil {
		return err
	}
	return c.decode(a, into)
}

// send sends one request; a nil body is none.
func (c *Client) send(ctx context.Context, method string, target *url.URL, body []byte) (*answer, error) {
	var content io.Reader = http.NoBody
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), content)
	if err != nil {
		return nil, fmt.Errorf("admin request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	if c.cfg.User != "" {
		req.SetBasicAuth(c.cfg.User, c.cfg.Password)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &UnreachableError{URL: c.URL(), Err: cause(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, &UnreachableError{URL: c.URL(), Err: cause(err)}
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the answer of %s is larger than %d MiB: ask for pages", c.URL(), maxAnswer>>20)
	}
	return &answer{status: resp.StatusCode, header: resp.Header, body: text, url: target}, nil
}

// cause takes the request's URL out of an error of net/http: its query may hold
// what a user wants explained, tokens included.
func cause(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	return err
}

// decode reads a successful answer; accepted lists further statuses that carry one.
func (c *Client) decode(a *answer, into any, accepted ...int) error {
	ok := a.status == http.StatusOK
	for _, status := range accepted {
		ok = ok || a.status == status
	}
	if !ok {
		return c.refusal(a)
	}
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if kind != "application/json" {
		return &StatusError{URL: c.URL(), Status: a.status, Message: "the answer is not JSON: is this the admin listener of a router?"}
	}
	if err := json.NewDecoder(bytes.NewReader(a.body)).Decode(into); err != nil {
		return &StatusError{URL: c.URL(), Status: a.status, Message: "the answer cannot be read: " + err.Error()}
	}
	return nil
}

// refusal makes an error of an answer that is not a success.
func (c *Client) refusal(a *answer) error {
	out := &StatusError{URL: c.URL(), Status: a.status}
	var body api.Error
	if json.Unmarshal(a.body, &body) == nil && body.Message != "" {
		out.Message, out.Code, out.Field = body.Message, body.Code, body.Field
		return out
	}
	out.Message = strings.ToLower(http.StatusText(a.status))
	if a.status >= 300 && a.status < 400 {
		out.Message = "the answer is a redirect, which is not followed: give the URL that it leads to"
	}
	return out
}

// fetchJSON is get and decode.
func (c *Client) fetchJSON(ctx context.Context, path string, query url.Values, into any) error {
	a, err := c.get(ctx, path, query)
	if err != nil {
		return err
	}
	return c.decode(a, into)
}
