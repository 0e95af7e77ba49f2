package app

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// passed are the listening sockets that a service manager opened for this process.
type passed struct{ http, admin *net.TCPListener }

// firstPassed is the number of the first passed file (sd_listen_fds(3)).
const firstPassed = 3

// adminSocket is the name of the socket that is for the admin listener
// (FileDescriptorName= of a systemd socket unit); any other one is for HTTP.
const adminSocket = "admin"

// inherit takes the sockets of systemd's protocol: LISTEN_PID names the process that
// they are for, LISTEN_FDS their number, LISTEN_FDNAMES their names. first is the
// number of the first one.
func inherit(env []string, pid, first int) (passed, error) {
	var p passed
	values := map[string]string{}
	for _, item := range env {
		if name, value, ok := strings.Cut(item, "="); ok {
			values[name] = value
		}
	}
	if values["LISTEN_PID"] != strconv.Itoa(pid) {
		return p, nil // none, or for another process
	}
	n, err := strconv.Atoi(values["LISTEN_FDS"])
	if err != nil || n < 0 || n > 1000 {
		return p, fmt.Errorf("LISTEN_FDS is %q, not a number of sockets", values["LISTEN_FDS"])
	}
	names := strings.Split(values["LISTEN_FDNAMES"], ":")
	for i := range n {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		if err := p.take(first+i, name); err != nil {
			p.close()
			return passed{}, err
		}
	}
	return p, nil
}

// take makes a listener of one passed file.
func (p *passed) take(fd int, name string) error {
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), name)
	defer func() { _ = file.Close() }() // the listener has a duplicate
	l, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("the socket %q that was passed (file %d) cannot be listened on: %w", name, fd, err)
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		_ = l.Close()
		return fmt.Errorf("the socket %q that was passed (file %d) is %s, not TCP: give the socket unit ListenStream= with an address", name, fd, l.Addr().Network())
	}
	target := &p.http
	if name == adminSocket {
		target = &p.admin
	}
	if *target != nil {
		_ = tcp.Close()
		return fmt.Errorf("the sockets %s and %s were both passed for one listener: the router takes one for HTTP and one with FileDescriptorName=%s",
			(*target).Addr(), tcp.Addr(), adminSocket)
	}
	*target = tcp
	return nil
}

func (p *passed) close() {
	for _, l := range []*net.TCPListener{p.http, p.admin} {
		if l != nil {
			_ = l.Close()
		}
	}
}
