package docker

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	apinetwork "github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"
)

const (
	// dialTimeout bounds one connection attempt; calls have their own contexts, and
	// the client as a whole has none: it would cut the event stream.
	dialTimeout = 5 * time.Second
	// callTimeout bounds one call other than the event stream.
	callTimeout = 5 * time.Second
	// parallelCalls is how many calls run at once; so many connections stay open.
	parallelCalls = 8
)

// dialer returns a connector for the endpoint. TLS material is read at each connect,
// so that renewed certificates are picked up.
func dialer(ep endpoint) connector {
	if ep.open == nil {
		network := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
		ep.open = func(ctx context.Context) (net.Conn, error) { return network.DialContext(ctx, ep.network, ep.address) }
	}
	return func(ctx context.Context) (engine, error) {
		d, err := negotiate(ctx, ep, "")
		if version := suggestedVersion(err); version != "" {
			d, err = negotiate(ctx, ep, version)
		}
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// negotiate makes a client and agrees on an API version; a fixed version skips the
// negotiation, for proxies that strip the version header of /_ping.
func negotiate(ctx context.Context, ep endpoint, fixed string) (*dockerClient, error) {
	d, err := newClient(ep, fixed)
	if err != nil {
		return nil, err
	}
	ping, err := d.ping(ctx)
	if err != nil {
		d.Close()
		return nil, err
	}
	if fixed == "" {
		d.api.NegotiateAPIVersionPing(ping)
	}
	if version := d.api.ClientVersion(); olderVersion(version, minAPIVersion) { // the client would try it
		d.Close()
		return nil, problem(nil, hintOldEngine, "the engine at %s speaks API versions up to %s, Fairlead needs %s or newer",
			ep.raw, version, minAPIVersion)
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d.versions.API = d.api.ClientVersion()
	v, err := d.api.ServerVersion(call)
	switch err = d.explain(err, "GET /version"); {
	case err == nil:
		d.versions.Engine = v.Version
	case isVersionProblem(err) || ctx.Err() != nil || client.IsErrConnectionFailed(err):
		d.Close()
		return nil, err
	}
	return d, nil
}

// dockerClient is an engine on the official client.
type dockerClient struct {
	api      *client.Client
	ep       endpoint
	versions versions
	// socket is the file behind a unix endpoint when the connection was made.
	socket socketFile
	// patience bounds the wait for the acceptance of a subscription.
	patience time.Duration
	// lastDial keeps what the client hides behind "Cannot connect to the Docker daemon".
	lastDial atomic.Pointer[net.OpError]
}

func newClient(ep endpoint, fixed string) (*dockerClient, error) {
	tlsConfig, err := ep.tls()
	if err != nil {
		return nil, err
	}
	d := &dockerClient{ep: ep, patience: callTimeout}
	if ep.network == "unix" {
		d.socket = statSocket(ep.address)
	}
	transport := &http.Transport{
		TLSClientConfig:     tlsConfig,
		MaxIdleConns:        2 * parallelCalls,
		MaxIdleConnsPerHost: parallelCalls,
		IdleConnTimeout:     30 * time.Second,
	}
	host := "tcp://" + ep.address + "/" + ep.base
	if ep.network == "unix" {
		host = "unix://" + ep.address
	}
	d.api, err = client.NewClientWithOpts(
		client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}),
		client.WithHost(strings.TrimSuffix(host, "/")),
		client.WithVersion(fixed),
		client.WithDialContext(d.dial),
	)
	if err != nil {
		return nil, problem(err, "write unix:///var/run/docker.sock or tcp://host:2375",
			"engine endpoint %q: %v", ep.raw, err)
	}
	// An engine is never behind the web proxy of the environment.
	transport.Proxy = nil
	return d, nil
}

func (d *dockerClient) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := d.ep.open(ctx)
	if op, ok := err.(*net.OpError); ok { //nolint:errorlint // the dialer returns it unwrapped
		d.lastDial.Store(op)
	}
	return conn, err
}

// tls loads the TLS material, or returns nil for plain connections.
func (ep endpoint) tls() (*tls.Config, error) {
	if !ep.secure {
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	options := tlsconfig.Options{InsecureSkipVerify: ep.certPath != "" && !ep.tlsVerify, ExclusiveRootPools: true}
	if ep.certPath != "" {
		options.CAFile = filepath.Join(ep.certPath, "ca.pem")
		options.CertFile = filepath.Join(ep.certPath, "cert.pem")
		options.KeyFile = filepath.Join(ep.certPath, "key.pem")
	}
	cfg, err := tlsconfig.Client(options)
	if err != nil {
		return nil, problem(err, "DOCKER_CERT_PATH must hold ca.pem, cert.pem and key.pem that this user may read",
			"TLS material for the engine in %s: %v", ep.certPath, err)
	}
	return cfg, nil
}

// Versions implements engine.
func (d *dockerClient) Versions() versions { return d.versions }

// Replaced implements engine.
func (d *dockerClient) Replaced() bool { return d.socket.replaced() }

// Close implements engine.
func (d *dockerClient) Close() { _ = d.api.Close() }

// Ping implements engine.
func (d *dockerClient) Ping(ctx context.Context) error {
	_, err := d.ping(ctx)
	return err
}

func (d *dockerClient) ping(ctx context.Context) (types.Ping, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := d.api.Ping(call)
	return answer, d.explain(err, "GET /_ping")
}

// Events implements engine.
func (d *dockerClient) Events(ctx context.Context, since time.Time) (<-chan event, <-chan error) {
	options := events.ListOptions{Filters: filters.NewArgs(
		// By type only: Podman lets no "die" through a filter by event.
		filters.Arg("type", string(events.ContainerEventType)),
		filters.Arg("type", string(events.NetworkEventType)),
	)}
	if !since.IsZero() {
		options.Since = fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond())
	}
	streamCtx, cancel := context.WithCancelCause(ctx)
	impatience := time.AfterFunc(d.patience, func() { cancel(context.DeadlineExceeded) })
	messages, errs := d.api.Events(streamCtx, options)
	impatience.Stop()
	out, failed := make(chan event), make(chan error, 1)
	go func() {
		defer cancel(nil)
		for {
			select {
			case m := <-messages:
				select {
				case out <- convertEvent(m):
				case <-streamCtx.Done():
				}
			case err := <-errs:
				if ctx.Err() == nil && streamCtx.Err() != nil {
					err = context.Cause(streamCtx)
				}
				failed <- d.explain(err, "GET /events")
				return
			}
		}
	}()
	return out, failed
}

func convertEvent(m events.Message) event {
	e := event{Type: string(m.Type), Action: string(m.Action), ID: m.Actor.ID, Attrs: m.Actor.Attributes}
	if m.TimeNano != 0 {
		e.At = time.Unix(0, m.TimeNano) // whole seconds alone would seem older than the start
	}
	return e
}

// List implements engine.
func (d *dockerClient) List(ctx context.Context) ([]summary, error) {
	call, cancel := context.WithTimeout(ctx, 3*callTimeout)
	defer cancel()
	list, err := d.api.ContainerList(call, container.ListOptions{All: true})
	if err != nil {
		return nil, d.explain(err, "GET /containers/json")
	}
	out := make([]summary, len(list))
	for i, c := range list {
		out[i] = summary{ID: c.ID, Labels: c.Labels}
		if len(c.Names) > 0 {
			out[i].Name = strings.TrimPrefix(slices.MinFunc(c.Names, shorterName), "/")
		}
	}
	return out, nil
}

// shorterName prefers a container's own name to the ones links give it ("/other/alias").
func shorterName(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") }

// Inspect implements engine.
func (d *dockerClient) Inspect(ctx context.Context, id string) (inspected, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c, err := d.api.ContainerInspect(call, id)
	if err != nil {
		return inspected{}, d.explain(err, callInspect)
	}
	if c.ContainerJSONBase == nil || c.State == nil || c.Config == nil {
		return inspected{}, problem(nil, "", "the engine's answer about container %.12s is not complete", id)
	}
	return convertInspect(c), nil
}

func convertInspect(c container.InspectResponse) inspected {
	in := inspected{
		ID: c.ID, Name: strings.TrimPrefix(c.Name, "/"), Image: c.Config.Image, Labels: c.Config.Labels,
		Created: parseTime(c.Created), Status: dockerStatus(c.State.Status),
		Started: parseTime(c.State.StartedAt), Finished: parseTime(c.State.FinishedAt),
		StopSignal: c.Config.StopSignal, StopTimeout: defaultStopTimeout, Hostname: c.Config.Hostname,
		ExitCode: c.State.ExitCode, OOMKilled: c.State.OOMKilled, Error: c.State.Error, Restarts: c.RestartCount,
		Networks: map[string]attachment{},
	}
	if c.State.Health != nil {
		in.Health = c.State.Health.Status
	}
	if c.Config.StopTimeout != nil {
		in.StopTimeout = time.Duration(*c.Config.StopTimeout) * time.Second
	}
	if c.HostConfig != nil {
		in.NetworkMode = string(c.HostConfig.NetworkMode)
	}
	for port := range c.Config.ExposedPorts {
		in.Exposed = append(in.Exposed, string(port))
	}
	if c.NetworkSettings != nil {
		for port, bindings := range c.NetworkSettings.Ports {
			in.Exposed = append(in.Exposed, string(port))
			in.Published = append(in.Published, convertBindings(port, bindings)...)
		}
		for name, n := range c.NetworkSettings.Networks {
			if !strings.HasPrefix(in.NetworkMode, "container:") { // Podman shows those of the one it shares
				in.Networks[name] = convertEndpoint(n)
			}
		}
	}
	slices.Sort(in.Exposed)
	in.Exposed = slices.Compact(in.Exposed)
	slices.SortFunc(in.Published, func(a, b Published) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Container, b.Container), strings.Compare(a.Protocol, b.Protocol))
	})
	in.Published = slices.Compact(in.Published) // one for each family of addresses
	return in
}

func convertEndpoint(n *apinetwork.EndpointSettings) attachment {
	if n == nil {
		return attachment{}
	}
	return attachment{NetworkID: n.NetworkID, IPv4: n.IPAddress, IPv6: n.GlobalIPv6Address, Gateway: n.Gateway}
}

// Networks implements engine.
func (d *dockerClient) Networks(ctx context.Context) ([]network, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := d.api.NetworkList(call, apinetwork.ListOptions{})
	if err != nil {
		return nil, d.explain(err, "GET /networks")
	}
	out := make([]network, len(list))
	for i, n := range list {
		out[i] = network{ID: n.ID, Name: n.Name, Driver: n.Driver, Internal: n.Internal}
		for _, c := range n.IPAM.Config {
			if c.Gateway != "" {
				out[i].Gateways = append(out[i].Gateways, c.Gateway)
			}
		}
	}
	return out, nil
}

// Occupants implements engine.
func (d *dockerClient) Occupants(ctx context.Context, network string) (map[string]string, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	n, err := d.api.NetworkInspect(call, network, apinetwork.InspectOptions{})
	if err != nil {
		return nil, d.explain(err, "GET /networks/{id}")
	}
	out := make(map[string]string, len(n.Containers))
	for id, c := range n.Containers {
		for _, text := range []string{c.IPv4Address, c.IPv6Address} {
			if address, err := netip.ParsePrefix(text); err == nil {
				out[address.Addr().Unmap().String()] = id
			}
		}
	}
	return out, nil
}

func (d *dockerClient) explain(err error, call string) error {
	if err == nil {
		return nil
	}
	return explain(err, d.lastDial.Load(), d.ep, call, d.api.ClientVersion())
}
