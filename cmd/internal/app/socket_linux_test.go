package app

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// sharing reserves an address and listens on it.
func sharing(t *testing.T, address string, takeOver bool) *net.TCPListener {
	t.Helper()
	r, err := reserve(address)
	if err != nil {
		t.Fatal(err)
	}
	l, steered, err := r.listen(takeOver)
	if err != nil || steered != takeOver {
		t.Fatalf("steered %v: %v", steered, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// count dials n times and returns how many of the connections a listener got.
func count(t *testing.T, l *net.TCPListener, n int) (got int) {
	t.Helper()
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	for {
		_ = l.SetDeadline(time.Now().Add(20 * time.Millisecond))
		c, err := l.Accept()
		if err != nil {
			return got
		}
		_ = c.Close()
		got++
	}
}

// TestTakeOverBringsEveryNewConnection: of two sockets on one address the second gets
// all, and whichever is left gets all afterwards.
func TestTakeOverBringsEveryNewConnection(t *testing.T) {
	const n = 50
	for _, address := range []string{"127.0.0.1:0", ":0", "[::1]:0"} {
		first := sharing(t, address, false)
		at := first.Addr().String()
		if got := count(t, first, n); got != n {
			t.Errorf("%s: alone it got %d of %d", at, got, n)
		}
		second := sharing(t, at, true)
		if got := count(t, second, n); got != n {
			t.Errorf("%s: the second one got %d of %d", at, got, n)
		}
		_ = first.Close()
		if got := count(t, second, n); got != n {
			t.Errorf("%s: after the first one's end the second got %d of %d", at, got, n)
		}
		third := sharing(t, at, true)
		if got := count(t, third, n); got != n {
			t.Errorf("%s: the third one got %d of %d", at, got, n)
		}
		_ = third.Close() // it is taken back
		if got := count(t, second, n); got != n {
			t.Errorf("%s: after the third one's end the second got %d of %d", at, got, n)
		}
	}
}

func TestReservedIsNotListenedOn(t *testing.T) {
	first := sharing(t, "127.0.0.1:0", false)
	r, err := reserve(first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if !r.occupied() || r.bound != first.Addr().String() {
		t.Errorf("occupied %v, bound %s", r.occupied(), r.bound)
	}
	if got := count(t, first, 50); got != 50 {
		t.Errorf("%d of 50", got)
	}
	_ = first.Close()
	if r.occupied() {
		t.Error("nobody listens")
	}
	if c, err := net.Dial("tcp", r.bound); err == nil {
		_ = c.Close()
		t.Error("the reserved address accepts")
	}
}

func TestReserveRefusesWhatIsNotShared(t *testing.T) {
	l := onTCP(t)
	defer func() { _ = l.Close() }()
	if _, err := reserve(l.Addr().String()); err == nil || !strings.Contains(shareFix(err, l.Addr().String()), "proxy.http.reusePort") {
		t.Errorf("%v", err)
	}
	if _, err := reserve("127.0.0.1:x"); err == nil {
		t.Error("no error for a bad port")
	}
}

// TestDeafenedListenersFinishHandshakes: nothing new begins, what is in the queue stays.
func TestDeafenedListenersFinishHandshakes(t *testing.T) {
	plain, err := listen(t.Context(), "127.0.0.1:0", "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]*net.TCPListener{"shared": sharing(t, "127.0.0.1:0", false), "shared, IPv6": sharing(t, ":0", false), "plain": plain} {
		queued, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := deafen(l); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var timeout net.Error
		if c, err := net.DialTimeout("tcp", l.Addr().String(), 100*time.Millisecond); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%s: a new connection: %v %v", name, c, err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := queued.Write([]byte("x")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := accepted.Read(make([]byte, 1)); n != 1 {
			t.Errorf("%s: the queued connection does not work: %v", name, err)
		}
		_, _, _ = queued.Close(), accepted.Close(), l.Close()
	}
}

// dialled makes n connections that wait to be accepted.
func dialled(t *testing.T, l *net.TCPListener, n int) {
	t.Helper()
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}

// drained accepts until the end and returns how many connections came.
func drained(t *testing.T, d *drainable, each func()) (n int) {
	t.Helper()
	for {
		c, err := d.Accept()
		if errors.Is(err, net.ErrClosed) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		n++
		each()
	}
}

// TestDrainEmptiesTheQueue: every connection that waits is handed out before the end,
// however slow this process is.
func TestDrainEmptiesTheQueue(t *testing.T) {
	for name, pause := range map[string]time.Duration{"quick": 0, "slower than quiet": 2 * quietAlone} {
		for _, shared := range []bool{false, true} {
			d := newDrainable(sharing(t, "127.0.0.1:0", false), shared)
			dialled(t, d.TCPListener, 20)
			if n := queued(d.TCPListener); n != 20 {
				t.Errorf("%d in the queue", n)
			}
			d.Drain()
			last := time.Now()
			if n := drained(t, d, func() { <-time.After(pause); last = time.Now() }); n != 20 {
				t.Errorf("%s, shared %v: %d of 20", name, shared, n)
			}
			if took := time.Since(last); took > d.quiet+500*time.Millisecond || pause == 0 && took < d.quiet {
				t.Errorf("%s, shared %v: it ended %v after the last one, want %v", name, shared, took, d.quiet)
			}
		}
	}
}

// TestDrainWaitsAnewAfterEachConnection: a handshake that began before may end late.
func TestDrainWaitsAnewAfterEachConnection(t *testing.T) {
	d := newDrainable(sharing(t, "127.0.0.1:0", false), true)
	begin := time.Now()
	end := begin.Add(longestDrain)
	d.end.Store(&end) // as Drain does, but hearing
	d.wait(end)
	late := time.AfterFunc(150*time.Millisecond, func() { dialled(t, d.TCPListener, 1) })
	defer late.Stop()
	if n := drained(t, d, func() {}); n != 1 || time.Since(begin) < 150*time.Millisecond+quietShared {
		t.Errorf("%d connections, ended after %v", n, time.Since(begin))
	}
}

// TestDrainHasAnEnd where connections come without one.
func TestDrainHasAnEnd(t *testing.T) {
	d := newDrainable(sharing(t, "127.0.0.1:0", false), false)
	dialled(t, d.TCPListener, 100)
	begin := time.Now()
	d.Drain()
	if n := drained(t, d, func() { <-time.After(20 * time.Millisecond) }); n > 60 || time.Since(begin) > longestDrain+500*time.Millisecond {
		t.Errorf("%d connections in %v", n, time.Since(begin))
	}
}
