//go:build unix

package proxy

import (
	"errors"
	"net"
	"syscall"
)

// readable reports whether a read would return at once, with data or with an end. It
// takes nothing and does not disturb a reader that waits.
func readable(nc net.Conn) bool {
	socket, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true // closed
	}
	waits := false
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		waits = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
	})
	return err != nil || !waits
}
