//go:build !unix

package proxy

import "net"

// readable cannot tell on this system: reuse is then guarded by the limits of idleness.
func readable(net.Conn) bool { return false }
