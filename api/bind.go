package api

import (
	"fmt"
	"net"
	"net/netip"
)

// CheckBind refuses to start an admin listener that other machines could read
// without anybody having said so: addr is host:port as it is listened on, users
// tells whether users are configured, anonymous whether everybody may read. The
// error says what to set.
func CheckBind(addr string, users, anonymous bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("admin address %q: write host:port, such as 127.0.0.1:3035: %w", addr, err)
	}
	if users || anonymous || loopbackOnly(host) {
		return nil
	}
	return fmt.Errorf("the admin address %s can be reached from other machines, and nothing says who may read it: "+
		"listen on this machine only (--admin 127.0.0.1:3035), add users to admin.users (fairlead hash-password "+
		"makes the hash), or set admin.anonymous to read-only "+
		"(FAIRLEAD_ADMIN_ANONYMOUS=read-only) to let everybody read who reaches the port", addr)
}

// loopbackOnly reports whether a host to listen on is this machine's alone. Other
// names than localhost are not resolved: what they mean may change.
func loopbackOnly(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
