package api

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Limits of GET /events.
const (
	maxWatchers  = 200
	watchBatch   = 64 // frames that a watcher holds at most
	watchWrite   = 10 * time.Second
	watchPing    = 30 * time.Second
	watchSilence = 75 * time.Second // without a pong: the watcher is gone
	watchBuffer  = 64 << 10         // bytes that the kernel holds for a slow watcher
)

// watchers are the open WebSockets of a Server.
type watchers struct {
	mu    sync.Mutex
	count int
	gone  chan struct{} // closed when the last one ended; nil while nobody waits
}

// enter counts a watcher in unless there are too many.
func (w *watchers) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= maxWatchers {
		return false
	}
	w.count++
	return true
}

func (w *watchers) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	if w.count == 0 && w.gone != nil {
		close(w.gone)
		w.gone = nil
	}
}

// wait returns when there is no watcher, or ctx ends.
func (w *watchers) wait(ctx context.Context) {
	w.mu.Lock()
	if w.count == 0 {
		w.mu.Unlock()
		return
	}
	if w.gone == nil {
		w.gone = make(chan struct{})
	}
	gone := w.gone
	w.mu.Unlock()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// stopKey is where a request's context holds what ends when its listener does: a
// WebSocket outlives what net/http knows of.
type stopKey struct{}

func withStop(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, stopKey{}, stop)
}

// stopping returns what ends when the router stops serving.
func stopping(ctx context.Context) context.Context {
	if stop, ok := ctx.Value(stopKey{}).(context.Context); ok {
		return stop
	}
	return ctx
}

// events answers GET /events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) *Error {
	since, err := sinceOf(r)
	if err != nil {
		return err
	}
	if !websocket.IsWebSocketUpgrade(r) || r.Method != http.MethodGet {
		return &Error{
			Message: "this path is a WebSocket: open it with one, or run fairlead events", Code: CodeUpgradeRequired,
			status: http.StatusUpgradeRequired, header: http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}},
		}
	}
	if err := s.guard.checkSocket(r); err != nil {
		return err
	}
	if !s.watchers.enter() {
		return &Error{
			Message: "too many watchers: " + strconv.Itoa(maxWatchers) + " follow already", Code: CodeTooMany,
			status: http.StatusServiceUnavailable, header: http.Header{"Retry-After": {"10"}},
		}
	}
	defer s.watchers.leave()
	up := websocket.Upgrader{
		HandshakeTimeout: watchWrite, ReadBufferSize: 1024, WriteBufferSize: 1024,
		CheckOrigin: func(*http.Request) bool { return true }, // judged above
		Error:       s.upgradeError,
	}
	conn, upErr := up.Upgrade(w, r, nil)
	if upErr != nil {
		return nil // it was told, or is gone
	}
	defer func() { _ = conn.Close() }()
	who := callerOf(r)
	one := &watcher{conn: conn, events: s.cfg.Events, permitted: func() bool { return s.still(who) }}
	s.watch(stopping(r.Context()), one, since)
	return nil
}

// upgradeError answers a handshake that is none in our own form.
func (s *Server) upgradeError(w http.ResponseWriter, r *http.Request, status int, _ error) {
	s.fail(w, r, &Error{Message: "the WebSocket handshake is not complete: version 13 and a key are needed", Code: CodeUpgradeRequired, status: status})
}

func sinceOf(r *http.Request) (*uint64, *Error) {
	query, err := queryOf(r, "since")
	if err != nil || !query.Has("since") {
		return nil, err
	}
	rev, parseErr := strconv.ParseUint(query.Get("since"), 10, 64)
	if parseErr != nil {
		return nil, badParameter("since", "since is the rev of a frame, or 0 for everything that is kept")
	}
	return &rev, nil
}

// watcher is one open WebSocket. Its writer is the goroutine that serves it.
type watcher struct {
	conn   *websocket.Conn
	events *Events
	rev    uint64 // the last frame that was sent
	// permitted reports whether its session goes on, and keeps it from being idle.
	permitted func() bool
}

// watch follows the stream until the watcher goes, does not read, or ctx ends.
func (s *Server) watch(ctx context.Context, w *watcher, since *uint64) {
	begin := w.events.start(since)
	w.rev = begin.rev
	if tcp, ok := w.conn.NetConn().(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(watchBuffer) // the kernel's default serves too
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		w.listen()
	}()
	stop := context.AfterFunc(ctx, func() { w.cut(gone, s.closing/2) })
	defer stop()
	defer func() { <-gone }()
	defer func() { _ = w.conn.Close() }()
	err := w.write(EventHello{
		Type: FrameHello, At: time.Now().Unix(), Rev: begin.rev, Generation: s.cfg.Viewer.View().Generation,
		Boot: s.boot, Version: s.cfg.Version, Resumed: begin.resumed,
	})
	if err == nil && begin.unknown {
		err = w.write(EventGap{Type: FrameGap, Rev: begin.rev})
	}
	if err == nil && w.follow(ctx, gone) == nil {
		w.goodbye(gone, s.closing/2)
	}
}

// follow sends frames until ctx ends, then returns nil.
func (w *watcher) follow(ctx context.Context, gone <-chan struct{}) error {
	ping := time.NewTicker(watchPing)
	defer ping.Stop()
	for ctx.Err() == nil {
		batch, lost, more := w.events.after(w.rev, watchBatch)
		if len(batch) > 0 && !w.permitted() {
			return w.expel() // nothing is told to a session that was left
		}
		if err := w.send(batch, lost); err != nil {
			return err
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-gone:
			return net.ErrClosed
		case <-more:
		case <-ping.C:
			if !w.permitted() {
				return w.expel()
			}
			if err := w.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(watchWrite)); err != nil {
				return err
			}
		}
	}
	return nil
}

// expel ends a stream whose session is over.
func (w *watcher) expel() error {
	text := websocket.FormatCloseMessage(websocket.ClosePolicyViolation, "the session is over")
	_ = w.conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(watchWrite)) // it ends either way
	return errSessionOver
}

var errSessionOver = errors.New("the session is over")

// send writes a batch, after a word about what is missing before it.
func (w *watcher) send(batch []*frame, lost uint64) error {
	if len(batch) == 0 {
		return nil
	}
	if lost > 0 {
		if err := w.write(EventGap{Type: FrameGap, Rev: batch[0].rev - 1, Lost: &lost}); err != nil {
			return err
		}
	}
	for _, f := range merged(batch) {
		_ = w.conn.SetWriteDeadline(time.Now().Add(watchWrite)) // never fails
		if err := w.conn.WritePreparedMessage(f.wire); err != nil {
			return err
		}
	}
	w.rev = batch[len(batch)-1].rev
	return nil
}

func (w *watcher) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_ = w.conn.SetWriteDeadline(time.Now().Add(watchWrite)) // never fails
	return w.conn.WriteMessage(websocket.TextMessage, text)
}

// listen answers pings and closes, and returns when the watcher is gone, silent, or
// says something: nothing is expected of it, and of a message no more than its head is read.
func (w *watcher) listen() {
	alive := func(string) error { return w.conn.SetReadDeadline(time.Now().Add(watchSilence)) }
	_ = alive("")
	w.conn.SetPongHandler(alive)
	if _, _, err := w.conn.NextReader(); err == nil {
		text := websocket.FormatCloseMessage(websocket.CloseUnsupportedData, "nothing is read here")
		_ = w.conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(time.Second))
	}
}

// cut ends a connection that is still open after a while: a write that nobody reads
// must not hold the shutdown.
func (w *watcher) cut(gone <-chan struct{}, after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
		_ = w.conn.NetConn().Close()
	}
}

// goodbye says that the router stops, and waits for the answer for a moment.
func (w *watcher) goodbye(gone <-chan struct{}, limit time.Duration) {
	text := websocket.FormatCloseMessage(websocket.CloseGoingAway, "the router stops")
	if w.conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(limit)) != nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
	}
}
