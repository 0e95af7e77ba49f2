package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Kinds of streams.
const (
	kindWebSocket = "WebSocket"
	kindEvents    = "events"
	kindUpload    = "upload"
	kindGet       = "long GET"
	kindPost      = "long POST"
)

// An upload is 3 MiB in pieces: about 3 s.
const (
	uploadPieces = 48
	uploadPiece  = 64 << 10
	uploadPace   = 60 * time.Millisecond
)

// flow is one long exchange on a known backend. Its fields below ended are valid
// once ended is closed.
type flow struct {
	kind    string
	id      string // by which the workload knows uploads and long requests
	backend string // short id of the container
	opened  time.Time
	moved   atomic.Int64 // messages, events or pieces so far
	cancel  context.CancelFunc
	ended   chan struct{}

	at     time.Time // when it ended
	status int       // of uploads and long requests
	reason string
	// err is nil when it ended as agreed: a close frame, the end of the body, the
	// right answer.
	err error
	// ours is set when the test itself closed it.
	ours atomic.Bool
}

func (st *flow) alive() bool {
	select {
	case <-st.ended:
		return false
	default:
		return true
	}
}

func (st *flow) close() {
	if st.alive() {
		st.ours.Store(true)
	}
	st.cancel()
	<-st.ended
}

func (st *flow) finish(err error) {
	st.at, st.err = time.Now(), err
	close(st.ended)
}

// describe tells how it stands, with times relative to the action.
func (st *flow) describe(began time.Time) string {
	text := fmt.Sprintf("%s on %s: %d messages, ", st.kind, st.backend, st.moved.Load())
	switch {
	case st.alive():
		return text + "alive"
	case st.ours.Load():
		return text + "alive until the test ended it"
	case st.err == nil:
		return text + fmt.Sprintf("ended well at %v", st.at.Sub(began).Round(time.Millisecond))
	}
	return text + fmt.Sprintf("broke at %v: %v", st.at.Sub(began).Round(time.Millisecond), st.err)
}

// on opens a stream of the kind on one container: it asks until the router picks it.
// all are the containers that the router may pick.
func (l *load) on(kind, want string, all ...string) *flow {
	t := l.s.t
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for try := 0; time.Now().Before(end); try++ {
		st, err := l.open(kind, fmt.Sprintf("%s-%d-%d", short(want), len(l.streams), try), append(all, want))
		if err != nil {
			t.Fatalf("opening a %s on %s: %v\n%s", kind, l.host, err, tail(l.s.log.String(), 6000))
		}
		if st.backend == short(want) {
			l.mu.Lock()
			l.streams = append(l.streams, st)
			l.mu.Unlock()
			return st
		}
		st.close()
	}
	t.Fatalf("no %s got to %s within 20 s", kind, short(want))
	return nil
}

func (l *load) open(kind, id string, all []string) (*flow, error) {
	ctx, cancel := context.WithCancel(context.Background())
	st := &flow{kind: kind, id: id, opened: time.Now(), cancel: cancel, ended: make(chan struct{})}
	var err error
	switch kind {
	case kindWebSocket:
		err = l.openSocket(ctx, st)
	case kindEvents:
		err = l.openEvents(ctx, st)
	case kindUpload:
		go func() { st.finish(l.upload(ctx, st, id)) }()
		err = l.whoHas(st, id, all)
	default:
		method := strings.TrimPrefix(kind, "long ")
		go func() { st.finish(l.longRequest(ctx, st, method, id)) }()
		err = l.whoHas(st, id, all)
	}
	if err != nil {
		cancel()
	}
	return st, err
}

func (l *load) openSocket(ctx context.Context, st *flow) error {
	dialer := websocket.Dialer{NetDialContext: l.dial, HandshakeTimeout: l.timeout}
	conn, res, err := dialer.DialContext(ctx, "ws://"+l.host+"/ws", nil)
	if err != nil {
		if res != nil {
			err = fmt.Errorf("%w: %d %s", err, res.StatusCode, answer{header: res.Header}.reason())
		}
		return err
	}
	st.backend = res.Header.Get("X-Whoami-Host")
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	go func() { st.finish(st.echo(conn)) }()
	return nil
}

// dial connects to the router, whatever the address.
func (l *load) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return l.s.connect(ctx, network, l.s.http)
}

// echo sends a message each 200 ms and wants it back within 3 s.
func (st *flow) echo(conn *websocket.Conn) error {
	defer conn.Close()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		text := fmt.Sprintf("message %d", n)
		_ = conn.SetReadDeadline(time.Now().Add(3 * time.Second))
		werr := conn.WriteMessage(websocket.TextMessage, []byte(text))
		_, got, err := conn.ReadMessage()
		switch {
		case websocket.IsCloseError(err, websocket.CloseGoingAway, websocket.CloseNormalClosure):
			return nil
		case err != nil || werr != nil:
			return errors.Join(werr, err)
		case string(got) != text:
			return fmt.Errorf("echo %q for %q", got, text)
		}
		st.moved.Add(1)
		<-tick.C
	}
}

// request sends a request of any length on a connection of its own.
func (l *load) request(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+l.s.http+path, body)
	if err != nil {
		return nil, err
	}
	req.Host = l.host
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: l.dial}}).Do(req)
}

func (l *load) openEvents(ctx context.Context, st *flow) error {
	res, err := l.request(ctx, http.MethodGet, "/sse", nil)
	if err != nil {
		return err
	}
	if res.StatusCode != 200 {
		_ = res.Body.Close()
		return fmt.Errorf("%d %s", res.StatusCode, answer{header: res.Header}.reason())
	}
	st.backend = res.Header.Get("X-Whoami-Host")
	go func() {
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: "+l.app+" ") {
				st.moved.Add(1)
			}
		}
		st.finish(lines.Err())
	}()
	return nil
}

// pieces is the body of an upload, which arrives slowly.
type pieces struct {
	st   *flow
	tick *time.Ticker
	left int
	rest []byte
	sum  io.Writer
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		if p.left == 0 {
			return 0, io.EOF
		}
		if p.st.moved.Load() > 0 {
			<-p.tick.C
		}
		p.rest = []byte(strings.Repeat(fmt.Sprintf("%08d", p.left), uploadPiece/8))
		p.left--
		p.st.moved.Add(1)
	}
	n := copy(b, p.rest)
	_, _ = p.sum.Write(p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}

// upload sends a body of unknown length and wants it to have arrived whole.
func (l *load) upload(ctx context.Context, st *flow, id string) error {
	sum := sha256.New()
	p := &pieces{st: st, tick: time.NewTicker(uploadPace), left: uploadPieces, sum: sum}
	defer p.tick.Stop()
	res, err := l.request(ctx, http.MethodPost, "/upload?id="+id, p)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	st.status, st.reason = res.StatusCode, answer{header: res.Header}.reason()
	want := fmt.Sprintf("Name: %s\nHostname: %s\nBytes: %d\nSHA256: %x\n", l.app, st.backend, uploadPieces*uploadPiece, sum.Sum(nil))
	if err == nil && (res.StatusCode != 200 || string(body) != want) {
		err = fmt.Errorf("%d %s %q, want %q", res.StatusCode, st.reason, body, want)
	}
	return err
}

// longRequest waits for an answer that the workload gives after 30 s.
func (l *load) longRequest(ctx context.Context, st *flow, method, id string) error {
	res, err := l.request(ctx, method, "/?wait=30s&id="+id, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	st.status, st.reason = res.StatusCode, answer{header: res.Header}.reason()
	_, err = io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode != 200 {
		err = fmt.Errorf("%d %s", st.status, st.reason)
	}
	return err
}

// whoHas asks the containers which of them has a request in flight.
func (l *load) whoHas(st *flow, id string, all []string) error {
	end := time.Now().Add(5 * time.Second)
	for time.Now().Before(end) {
		for _, container := range all {
			w, err := l.s.stats(container)
			if err != nil {
				return err
			}
			if slices.Contains(w.inFlight, id) {
				st.backend = short(container)
				return nil
			}
		}
		select {
		case <-st.ended:
			return fmt.Errorf("it ended before it arrived anywhere: %w", st.err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return errors.New("no backend has it after 5 s")
}

// wantAlive wants streams that nothing touched: alive, and moving.
func (l *load) wantAlive(streams ...*flow) {
	l.s.t.Helper()
	for _, st := range streams {
		before := st.moved.Load()
		l.s.eventually(3*time.Second, st.kind+" on "+st.backend+" moves", func() error {
			if !st.alive() {
				return errors.New(st.describe(l.began))
			}
			if st.moved.Load() == before {
				return errors.New("nothing moves")
			}
			return nil
		})
	}
}

// wantWell wants streams that have ended, or end soon, as agreed.
func (l *load) wantWell(streams ...*flow) {
	l.s.t.Helper()
	for _, st := range streams {
		select {
		case <-st.ended:
			if st.err != nil {
				l.s.t.Errorf("%s: %s", l.host, st.describe(l.began))
			}
		case <-time.After(15 * time.Second):
			l.s.t.Errorf("%s: %s, want its end", l.host, st.describe(l.began))
		}
	}
}
