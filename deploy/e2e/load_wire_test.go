package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// wire is one keep-alive client connection. It never sends a request twice, as
// net/http's own client does when a pooled connection turns out to be closed: here a
// connection that the router ends under a request is a failure that is seen.
type wire struct {
	dial   func(ctx context.Context, network, address string) (net.Conn, error) // to the router
	conn   net.Conn
	reader *bufio.Reader
}

// record is one request as its client saw it.
type record struct {
	at         time.Time
	took       time.Duration
	status     int
	reason     string
	retryAfter string
	backend    string // the container that answered, by its own word
	foreign    string // the body when it came from another app
	failure    string // why there is no whole answer
	reused     bool
}

func (r *record) ok() bool { return r.failure == "" && r.status == http.StatusOK && r.foreign == "" }

// get sends one request and reads the answer. app is the name that a 200 must carry.
func (w *wire) get(host, path, app string, timeout time.Duration) record {
	r := record{at: time.Now(), reused: w.conn != nil}
	err := w.exchange(&r, host, path, app, timeout)
	r.took = time.Since(r.at)
	if err != nil {
		r.failure = failureOf(err)
		w.close()
	}
	return r
}

func (w *wire) exchange(r *record, host, path, app string, timeout time.Duration) error {
	if w.conn == nil {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		conn, err := w.dial(ctx, "tcp", "")
		cancel()
		if err != nil {
			return err
		}
		w.conn, w.reader = conn, bufio.NewReader(conn)
	}
	_ = w.conn.SetDeadline(r.at.Add(timeout))
	if _, err := io.WriteString(w.conn, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nUser-Agent: load\r\n\r\n"); err != nil {
		return err
	}
	res, err := http.ReadResponse(w.reader, &http.Request{Method: http.MethodGet})
	if err != nil {
		return err
	}
	r.status, r.backend, r.retryAfter = res.StatusCode, res.Header.Get("X-Whoami-Host"), res.Header.Get("Retry-After")
	r.reason = answer{header: res.Header}.reason()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if strings.Contains(string(body), "Name: ") && !strings.Contains(string(body), "Name: "+app+"\n") {
		r.foreign = string(body)
	} else if r.status == http.StatusOK && !strings.Contains(string(body), "Name: "+app+"\n") {
		r.foreign = "no name in " + string(body)
	}
	if res.Close {
		w.close()
	}
	return nil
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// failureOf names an error of the client's connection without its addresses.
func failureOf(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "client timeout"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut short"
	case errors.Is(err, io.EOF):
		return "closed without an answer"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, syscall.EPIPE):
		return "broken pipe"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "router refused"
	}
	return err.Error()
}
