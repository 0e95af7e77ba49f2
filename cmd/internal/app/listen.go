package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"fairlead/api"
	"fairlead/cmd/internal/config"
	"fairlead/provider/docker"
)

// bind opens the listeners, all before anything else starts: a router that cannot
// listen must say so at once. A listener with an empty address is nil. Sockets that a
// service manager passed take the place of addresses.
func (a *App) bind(ctx context.Context) (front *door, admin *net.TCPListener, err error) {
	s := &a.cfg.Settings
	sockets, err := inherit(a.cfg.Env, os.Getpid(), firstPassed)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			front.close()
			sockets.close()
		}
	}()
	switch {
	case sockets.http != nil:
		front = &door{listener: sockets.http, inherited: true}
	case s.Proxy.HTTP.Listen != "" && s.Proxy.HTTP.ReusePort:
		front, err = share(s.Proxy.HTTP.Listen)
	default:
		front, err = openDoor(ctx, s.Proxy.HTTP.Listen)
	}
	if err != nil {
		return nil, nil, err
	}
	if admin = sockets.admin; admin == nil {
		admin, err = listen(ctx, s.Admin.Listen, "admin", "--admin", "admin.listen")
	} else {
		err = checkAdmin(s, admin.Addr().String())
	}
	return front, admin, err
}

// checkAdmin refuses an address of the admin listener that others could read from.
func checkAdmin(s *config.Config, address string) error {
	return api.CheckBind(address, len(s.Admin.Users) > 0, s.Admin.Anonymous == "read-only")
}

func listen(ctx context.Context, address, what, flag, setting string) (*net.TCPListener, error) {
	if address == "" {
		return nil, nil
	}
	var cfg net.ListenConfig
	cfg.SetMultipathTCP(false) // its sockets cannot be deafened, see drainable
	l, err := cfg.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &BindError{What: what, Address: address, Fix: bindFix(err, address, flag, setting), Err: err}
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("%s is no TCP address", address)
	}
	return tcp, nil
}

// BindError says that a listener could not be opened, and what to do.
type BindError struct {
	What    string // HTTP, admin or metrics
	Address string
	Fix     string
	Err     error
}

// Error implements error.
func (e *BindError) Error() string {
	return fmt.Sprintf("the %s listener cannot be opened on %s: %v", e.What, e.Address, reasonOf(e.Err))
}

// Unwrap returns the cause.
func (e *BindError) Unwrap() error { return e.Err }

// reasonOf is the cause without the address, which stands before it already.
func reasonOf(err error) string {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	return err.Error()
}

func bindFix(err error, address, flag, setting string) string {
	_, portText, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(portText)
	switch {
	case errors.Is(err, syscall.EACCES) && port < 1024:
		return fmt.Sprintf("ports below 1024 need a privilege: run as root or give the program CAP_NET_BIND_SERVICE "+
			"(setcap cap_net_bind_service=+ep fairlead), or choose another port, such as %s %s", flag, elsewhere(address))
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Sprintf("another program listens there (ss -ltnp shows which): stop it, or choose another address with %s (%s)", flag, setting)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Sprintf("no interface of this machine has that address: choose another one with %s (%s)", flag, setting)
	}
	return fmt.Sprintf("choose another address with %s (%s)", flag, setting)
}

// elsewhere is the same host with an unprivileged port.
func elsewhere(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ":8080"
	}
	return net.JoinHostPort(host, "8080")
}

// announce says in one line where the router listens and what it watches.
func (a *App) announce(front *door, admin, scraped *net.TCPListener) {
	addresses := Addresses{HTTP: front.address(), Admin: addressOf(admin), Metrics: addressOf(scraped)}
	s := &a.cfg.Settings
	line := a.log.Info().Str("version", a.cfg.Version).Str("http", off(addresses.HTTP)).Str("admin", off(addresses.Admin))
	if s.Providers.Docker.Enabled {
		line = line.Str("docker", withoutUser(s.Providers.Docker.Endpoint))
	}
	if s.Providers.File.Path != "" {
		line = line.Str("file", s.Providers.File.Path)
	}
	if scraped != nil {
		line = line.Str("metrics", addresses.Metrics)
	}
	if s.Log.Access.Path != "" {
		line = line.Str("access_log", s.Log.Access.Path)
	}
	if a.cfg.File != "" {
		line = line.Str("config", a.cfg.File)
	}
	line.Msg("fairlead started")
	if a.cfg.Listening != nil {
		a.cfg.Listening(addresses)
	}
}

func addressOf(l *net.TCPListener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

func off(address string) string {
	if address == "" {
		return "off"
	}
	return address
}

// withoutUser shows an engine's address without a user and password in it.
func withoutUser(endpoint string) string {
	if endpoint == "" {
		return docker.DefaultEndpoint
	}
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://" + rest[at+1:]
	}
	return endpoint
}
