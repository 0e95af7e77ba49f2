package docker

import (
	"context"
	"time"
)

// engine is what the watcher needs of one connection to a Docker engine. Its
// methods are safe for concurrent use; errors are classified (see EngineError).
type engine interface {
	// Versions returns what was negotiated. An engine that hides /version leaves
	// Engine empty.
	Versions() versions
	// Ping asks for a sign of life.
	Ping(ctx context.Context) error
	// Events subscribes to container and network events since a moment of the
	// engine's clock and returns once the engine has accepted or refused. The error
	// channel gets exactly one error when the stream ends; the events channel is
	// never closed. The reader must not dawdle: engines drop events for slow ones.
	Events(ctx context.Context, since time.Time) (<-chan event, <-chan error)
	// List returns all containers, stopped ones included.
	List(ctx context.Context) ([]summary, error)
	// Inspect returns one container; errNotFound when there is none.
	Inspect(ctx context.Context, id string) (inspected, error)
	// Networks returns all networks; errDenied where a socket proxy hides them.
	Networks(ctx context.Context) ([]network, error)
	// Occupants returns the container of each address of a network, by id or name, those
	// that are only being started included; errDenied where a socket proxy hides it.
	Occupants(ctx context.Context, network string) (map[string]string, error)
	// Replaced reports whether the endpoint is a socket whose path names another one than
	// when the connection was made.
	Replaced() bool
	// Close drops idle connections.
	Close()
}

// connector makes a fresh connection and negotiates the API version on it.
type connector func(ctx context.Context) (engine, error)

// versions of an engine, for display.
type versions struct {
	Engine string // "20.10.24"
	API    string // negotiated, "1.41"
}

// summary is what a list says about a container.
type summary struct {
	ID     string
	Name   string // without the leading slash
	Labels map[string]string
}

// inspected is what an inspect says about a container.
type inspected struct {
	ID      string
	Name    string // without the leading slash
	Image   string
	Labels  map[string]string
	Created time.Time

	Status   string // created, running, paused, restarting, removing, exited, dead
	Started  time.Time
	Finished time.Time
	Health   string // "", none, starting, healthy, unhealthy

	// How the last run ended, of one that does not run, and how often the restart policy
	// has started it again.
	ExitCode  int
	OOMKilled bool
	Error     string // why it could not be started
	Restarts  int

	StopSignal  string // "" means TERM
	StopTimeout time.Duration
	Hostname    string

	NetworkMode string // default, bridge, host, none, container:<id>, or a network's name
	Networks    map[string]attachment
	// Exposed lists the ports of the image's configuration and the published ones,
	// as "80/tcp", sorted and without duplicates.
	Exposed []string
	// Published lists what the host offers, sorted and without duplicates.
	Published []Published
}

// attachment is a container's endpoint on one network. Addresses are empty while
// the container does not run.
type attachment struct {
	NetworkID string
	IPv4      string
	IPv6      string
	Gateway   string
}

// network is one of the engine's networks.
type network struct {
	ID       string
	Name     string
	Driver   string
	Internal bool
	Gateways []string
}

// event is one message of the engine's stream.
type event struct {
	Type   string // container, network
	Action string
	ID     string // container or network id
	Attrs  map[string]string
	At     time.Time // the engine's clock
}
