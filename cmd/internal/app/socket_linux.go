package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxBacklog is cut by the kernel to net.core.somaxconn.
const maxBacklog = 1<<16 - 1

// reserved is a TCP address that is bound with SO_REUSEPORT and not listened on yet:
// who else listens there goes on getting every connection.
type reserved struct {
	address *net.TCPAddr // as it was asked for
	fd      int
	bound   string
}

// reserve binds an address that other processes of the same user may have too.
func reserve(address string) (*reserved, error) {
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	fd, err := bound(tcp, true)
	if err != nil {
		return nil, err
	}
	r := &reserved{address: tcp, fd: fd}
	name, err := unix.Getsockname(fd)
	if err != nil {
		r.close()
		return nil, os.NewSyscallError("getsockname", err)
	}
	r.bound = addressText(name)
	return r, nil
}

// occupied reports whether another process listens on the address: a socket that does
// not share can be bound beside one that does, unless that one listens.
func (r *reserved) occupied() bool {
	fd, err := bound(r.address, false)
	if err != nil {
		return errors.Is(err, unix.EADDRINUSE)
	}
	_ = unix.Close(fd)
	return false
}

// listen begins to listen. takeOver asks the kernel to bring new connections here and
// no longer to the process that listened first; steered reports whether it does.
func (r *reserved) listen(takeOver bool) (l *net.TCPListener, steered bool, err error) {
	if err := unix.Listen(r.fd, maxBacklog); err != nil {
		return nil, false, os.NewSyscallError("listen", err)
	}
	if takeOver {
		steered = steer(r.fd) == nil
	}
	file := os.NewFile(uintptr(r.fd), r.bound)
	defer func() { _ = file.Close() }()
	generic, err := net.FileListener(file) // a duplicate
	if err != nil {
		return nil, false, err
	}
	l, ok := generic.(*net.TCPListener)
	if !ok {
		return nil, false, fmt.Errorf("%s is no TCP listener", r.bound)
	}
	return l, steered, nil
}

func (r *reserved) close() { _ = unix.Close(r.fd) }

// bound returns a socket that is bound like one of net.Listen.
func bound(a *net.TCPAddr, share bool) (fd int, err error) {
	family, name := sockaddr(a)
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if errors.Is(err, unix.EAFNOSUPPORT) && family == unix.AF_INET6 && wildcard(a) {
		family, name = unix.AF_INET, &unix.SockaddrInet4{Port: a.Port}
		fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	}
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	if family == unix.AF_INET6 {
		if err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
			return -1, os.NewSyscallError("setsockopt", err)
		}
	}
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return -1, os.NewSyscallError("setsockopt", err)
	}
	if share {
		if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
			return -1, os.NewSyscallError("setsockopt", err)
		}
	}
	if err = unix.Bind(fd, name); err != nil {
		return -1, os.NewSyscallError("bind", err)
	}
	return fd, nil
}

func wildcard(a *net.TCPAddr) bool { return a.IP == nil || a.IP.IsUnspecified() }

// sockaddr picks the family as package net does: every address is one IPv6 socket.
func sockaddr(a *net.TCPAddr) (family int, name unix.Sockaddr) {
	if v4 := a.IP.To4(); v4 != nil && !wildcard(a) {
		return unix.AF_INET, &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(v4)}
	}
	six := &unix.SockaddrInet6{Port: a.Port}
	if !wildcard(a) {
		copy(six.Addr[:], a.IP.To16())
		if zone, err := net.InterfaceByName(a.Zone); err == nil {
			six.ZoneId = uint32(zone.Index)
		}
	}
	return unix.AF_INET6, six
}

func addressText(name unix.Sockaddr) string {
	switch n := name.(type) {
	case *unix.SockaddrInet4:
		return (&net.TCPAddr{IP: n.Addr[:], Port: n.Port}).String()
	case *unix.SockaddrInet6:
		return (&net.TCPAddr{IP: n.Addr[:], Port: n.Port}).String()
	}
	return ""
}

// steer brings new connections of an address that two sockets share to the second one.
// The kernel numbers the sockets in the order in which they began to listen; a number
// that there is no more, since the first one ended, means whoever is left.
func steer(fd int) error {
	const second = 1
	program := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: second}}
	return attach(fd, unix.SO_ATTACH_REUSEPORT_CBPF, program)
}

// deafen lets a listening socket drop the first packet of new connections, without an
// answer: the client's kernel sends it again a second later, to whoever listens then.
// Handshakes that have begun go on.
func deafen(l syscall.Conn) error {
	const (
		flags    = 13 // the offset in a TCP header
		syn, ack = 0x02, 0x10
		all      = 0xffffffff
	)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: syn | ack},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: syn, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: all},
	}
	return withFile(l, func(fd int) error { return attach(fd, unix.SO_ATTACH_FILTER, program) })
}

// queued is how many connections wait to be accepted, 0 when that is not known.
func queued(l syscall.Conn) (n int) {
	_ = withFile(l, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			n = int(info.Unacked) // for a listening socket
		}
		return err
	})
	return n
}

func withFile(l syscall.Conn, do func(fd int) error) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}

func attach(fd, option int, program []unix.SockFilter) error {
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, option, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}
