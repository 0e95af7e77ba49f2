package enginetest

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
)

// Pipe serves the engine on connections in memory until the test ends, and returns
// what opens one. It works in a synctest bubble, where sockets do not.
func (e *Engine) Pipe(t testing.TB) func(context.Context) (net.Conn, error) {
	t.Helper()
	p := &pipe{}
	e.serve(t, &server{open: p.listen})
	return p.dial
}

// pipe is a place to listen at in memory.
type pipe struct {
	mu  sync.Mutex
	now *pipeListener
}

func (p *pipe) listen() (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return p.now, nil
}

func (p *pipe) dial(ctx context.Context) (net.Conn, error) {
	p.mu.Lock()
	l := p.now
	p.mu.Unlock()
	near, far := net.Pipe()
	err := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	_, _ = near.Close(), far.Close()
	return nil, &net.OpError{Op: "dial", Net: "pipe", Err: err}
}

// pipeListener hands the far ends of pipes to a server.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

// Network implements net.Addr.
func (pipeAddr) Network() string { return "pipe" }

// String implements net.Addr.
func (pipeAddr) String() string { return "pipe" }
