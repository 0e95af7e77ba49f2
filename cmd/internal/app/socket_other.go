//go:build !linux

package app

import (
	"errors"
	"net"
	"syscall"
)

// reserved is an address that is shared between processes: Linux only.
type reserved struct{ bound string }

var errNotHere = errors.New("sharing an address between processes is for Linux only")

func reserve(string) (*reserved, error) { return nil, errNotHere }

func (*reserved) occupied() bool { return false }

func (*reserved) listen(bool) (*net.TCPListener, bool, error) { return nil, false, errNotHere }

func (*reserved) close() {}

func deafen(syscall.Conn) error { return errNotHere }

func queued(syscall.Conn) int { return 0 }
