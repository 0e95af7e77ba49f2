package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"fairlead/api"
)

// Event is one frame of GET /events. The field of its type is set; none is for a type
// that this version does not know.
type Event struct {
	Type       string // one of the api.Frame constants
	Rev        uint64
	Hello      *api.EventHello
	Transition *api.EventTransition
	Table      *api.EventTable
	Provider   *api.EventProvider
	Gap        *api.EventGap
	// Raw is the frame as it came.
	Raw json.RawMessage
}

// ErrStopped says that the router ended the stream because it stops.
var ErrStopped = errors.New("the router stops")

// Limits of a stream.
const (
	maxFrame     = 1 << 20          // bytes
	streamSilent = 75 * time.Second // the router pings every 30 s
)

// Watch follows what changes over one connection. It calls each for every frame in
// order, hello first, until ctx ends, the connection does, or each returns an error,
// and returns why: never nil. since resumes behind a frame's rev, 0 asks for all that
// the router kept, nil begins now. Whoever watches on calls it again with the last rev.
func (c *Client) Watch(ctx context.Context, since *uint64, each func(Event) error) error {
	conn, err := c.dialEvents(ctx, since)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	conn.SetReadLimit(maxFrame)
	answer := conn.PingHandler()
	conn.SetPingHandler(func(text string) error {
		_ = conn.SetReadDeadline(time.Now().Add(streamSilent))
		return answer(text)
	})
	for {
		_ = conn.SetReadDeadline(time.Now().Add(streamSilent)) // never fails before a read does
		_, text, err := conn.ReadMessage()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case websocket.IsCloseError(err, websocket.CloseGoingAway):
			return ErrStopped
		case err != nil:
			return &UnreachableError{URL: c.URL(), Err: err}
		}
		event, err := readEvent(text)
		if err != nil {
			return &StatusError{URL: c.URL(), Status: http.StatusSwitchingProtocols, Message: "a frame cannot be read: " + err.Error()}
		}
		if err := each(event); err != nil {
			return err
		}
	}
}

func (c *Client) dialEvents(ctx context.Context, since *uint64) (*websocket.Conn, error) {
	target := *c.base
	target.Scheme = "ws" + c.base.Scheme[len("http"):]
	target.Path += "/events"
	if since != nil {
		target.RawQuery = url.Values{"since": {strconv.FormatUint(*since, 10)}}.Encode()
	}
	d := websocket.Dialer{
		NetDialContext: (&net.Dialer{Timeout: c.cfg.Timeout}).DialContext, HandshakeTimeout: c.cfg.Timeout,
		ReadBufferSize: 4 << 10, WriteBufferSize: 512,
	}
	conn, resp, err := d.DialContext(ctx, target.String(), c.header())
	if err == nil {
		_ = resp.Body.Close()
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if resp == nil {
		return nil, &UnreachableError{URL: c.URL(), Err: cause(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body) // the dialer holds a short part of it
	return nil, c.refusal(&answer{status: resp.StatusCode, header: resp.Header, body: body})
}

// header is what every request carries.
func (c *Client) header() http.Header {
	h := http.Header{"User-Agent": {c.cfg.UserAgent}}
	if c.cfg.User != "" {
		r := http.Request{Header: h}
		r.SetBasicAuth(c.cfg.User, c.cfg.Password)
	}
	return h
}

func readEvent(text []byte) (Event, error) {
	var head struct {
		Type string `json:"type"`
		Rev  uint64 `json:"rev"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Event{}, fmt.Errorf("not a frame: %w", err)
	}
	e := Event{Type: head.Type, Rev: head.Rev, Raw: bytes.TrimSpace(text)}
	var into any
	switch e.Type {
	case api.FrameHello:
		e.Hello = &api.EventHello{}
		into = e.Hello
	case api.FrameTransition:
		e.Transition = &api.EventTransition{}
		into = e.Transition
	case api.FrameTable:
		e.Table = &api.EventTable{}
		into = e.Table
	case api.FrameProvider:
		e.Provider = &api.EventProvider{}
		into = e.Provider
	case api.FrameGap:
		e.Gap = &api.EventGap{}
		into = e.Gap
	default:
		return e, nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return Event{}, fmt.Errorf("a frame of type %s: %w", e.Type, err)
	}
	return e, nil
}
