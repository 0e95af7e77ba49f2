// Package demo is a whole installation in one process: a router, its admin listener and
// embedded backends, some of them sick. It needs neither Docker nor a network.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"fairlead/api"
	"fairlead/cmd/internal/app"
	"fairlead/cmd/internal/config"
	"fairlead/router/route"
)

// Config configures a demo. Zero addresses mean the preferred ones, or any free port
// where those are taken.
type Config struct {
	HTTP    string // address of the router
	Admin   string // address of the dashboard and the API
	Traffic bool   // send some requests all the time, so that there is something to see
	Program string // how the program is called in what it prints
	Version string
	Logs    app.Logs
	Out     io.Writer
}

// The preferred addresses.
const (
	preferredHTTP  = "127.0.0.1:8080"
	preferredAdmin = "127.0.0.1:3035"
)

// Run plays the demo until ctx ends and returns after everything in it. It leaves
// nothing behind.
func Run(ctx context.Context, cfg Config) error {
	folder, err := os.MkdirTemp("", "fairlead-demo-")
	if err != nil {
		return fmt.Errorf("the demo needs a folder for its file of entrypoints: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	world := newWorld()
	open, err := world.listen(ctx)
	if err != nil {
		return fmt.Errorf("the demo's backends cannot listen on 127.0.0.1: %w", err)
	}
	file := filepath.Join(folder, "entrypoints.yaml")
	if err := os.WriteFile(file, []byte(world.file()), 0o600); err != nil {
		closeAll(open)
		return fmt.Errorf("the demo's file of entrypoints: %w", err)
	}
	operator, err := newLogin()
	if err != nil {
		closeAll(open)
		return fmt.Errorf("the demo's user: %w", err)
	}
	stage, leave := context.WithCancel(context.WithoutCancel(ctx)) // the backends end after the router
	var others sync.WaitGroup
	defer others.Wait()
	defer leave()
	others.Go(func() { world.run(stage, open) })

	router, err := app.New(app.Config{
		Settings: settings(ctx, &cfg, file, operator), Version: cfg.Version, Logs: cfg.Logs,
		Listening: func(at app.Addresses) {
			_, _ = io.WriteString(cfg.Out, welcome(world, at, file, cfg.Program, operator))
			if cfg.Traffic {
				others.Go(func() { visit(stage, at.HTTP, world) })
			}
		},
	})
	if err != nil {
		return err
	}
	return router.Run(ctx)
}

// settings are those of a router that reads the file and nothing else. Who is on this
// machine may read as nobody in particular; orders are for the operator.
func settings(ctx context.Context, cfg *Config, file string, operator login) config.Config {
	s := config.Default()
	s.Providers.Docker.Enabled = false
	s.Providers.File.Path = file
	s.Proxy.HTTP.Listen = choose(ctx, cfg.HTTP, preferredHTTP)
	s.Admin.Listen = choose(ctx, cfg.Admin, preferredAdmin)
	s.Admin.Users = []api.User{{Name: operator.name, Role: api.RoleAdmin, PasswordHash: route.Secret(operator.hash)}}
	if onThisMachine(s.Admin.Listen) {
		s.Admin.Anonymous = string(api.RoleReadOnly)
	}
	return s
}

// onThisMachine reports whether only this machine can reach an address.
func onThisMachine(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// login is the user who may give orders, for as long as the demo runs.
type login struct{ name, password, hash string }

// newLogin has a password of 80 random bits.
func newLogin() (login, error) {
	l := login{name: "demo", password: strings.ToLower(rand.Text()[:16])}
	var err error
	l.hash, err = api.HashPassword(l.password, false)
	return l, err
}

// choose returns what was asked for, else the preferred address, else any free port of
// this machine when another program has that one.
func choose(ctx context.Context, asked, preferred string) string {
	if asked != "" {
		return asked
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", preferred)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return "127.0.0.1:0"
		}
		return preferred // the router says why it cannot be had
	}
	_ = l.Close()
	return preferred
}
