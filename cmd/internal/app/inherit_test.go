package app

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pass puts listeners at file numbers from first on, as a service manager does, and
// returns their addresses.
func pass(t *testing.T, first int, listeners ...net.Listener) (addresses []string) {
	t.Helper()
	for i, l := range listeners {
		file, err := l.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Dup2(int(file.Fd()), first+i); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		t.Cleanup(func() { _ = l.Close() })
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

func onTCP(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func listenEnv(pid, n int, names string) []string {
	return []string{"X", "LISTEN_PID=" + fmt.Sprint(pid), "LISTEN_FDS=" + fmt.Sprint(n), "LISTEN_FDNAMES=" + names}
}

func TestPassedSockets(t *testing.T) {
	const first = 900
	for name, c := range map[string]struct {
		names       string
		http, admin int // which of the two, -1 for none
	}{
		"by name":             {"admin:fairlead.socket", 1, 0},
		"the other way round": {"http:admin", 0, 1},
		"admin alone":         {"admin", -1, 0},
		"without a name":      {"", 0, -1},
	} {
		listeners := []net.Listener{onTCP(t)}
		if strings.Contains(c.names, ":") {
			listeners = append(listeners, onTCP(t))
		}
		addresses := pass(t, first, listeners...)
		p, err := inherit(listenEnv(7, len(listeners), c.names), 7, first)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for what, got := range map[int]*net.TCPListener{c.http: p.http, c.admin: p.admin} {
			if (what < 0) != (got == nil) || got != nil && got.Addr().String() != addresses[what] {
				t.Errorf("%s: %v, want number %d of %v", name, got, what, addresses)
			}
		}
		p.close()
	}
}

func TestSocketsOfOthersAreLeftAlone(t *testing.T) {
	const first = 910
	pass(t, first, onTCP(t))
	for _, env := range [][]string{nil, listenEnv(8, 1, "http"), {"LISTEN_FDS=1"}} {
		if p, err := inherit(env, 7, first); err != nil || p.http != nil || p.admin != nil {
			t.Errorf("%v: %+v %v", env, p, err)
		}
	}
	if err := unix.Close(first); err != nil {
		t.Errorf("the file is closed: %v", err)
	}
}

func TestSocketsThatCannotBeUsed(t *testing.T) {
	const first = 920
	local, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env       []string
		listeners []net.Listener
		want      string
	}{
		"no number":    {[]string{"LISTEN_PID=7", "LISTEN_FDS=two"}, nil, `LISTEN_FDS is "two"`},
		"negative":     {listenEnv(7, -1, ""), nil, `LISTEN_FDS is "-1"`},
		"no such file": {listenEnv(7, 1, "http"), nil, "(file 920) cannot be listened on"},
		"not TCP":      {listenEnv(7, 1, "http"), []net.Listener{local}, "is unix, not TCP: give the socket unit ListenStream="},
		"two for HTTP": {listenEnv(7, 2, "web:fairlead.socket"), []net.Listener{onTCP(t), onTCP(t)}, "both passed for one listener"},
	} {
		pass(t, first, c.listeners...)
		if p, err := inherit(c.env, 7, first); err == nil || !strings.Contains(err.Error(), c.want) || p.http != nil {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
