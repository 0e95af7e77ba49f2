package docker

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
	"fairlead/provider/label"
	"fairlead/router/route"
)

// ProviderName is how this provider calls itself in snapshots, answers and logs.
const ProviderName = "docker"

// DefaultEndpoint is used when Config.Endpoint is empty.
const DefaultEndpoint = "unix:///var/run/docker.sock"

// DefaultRetain is how long an entrypoint outlives its last container.
const DefaultRetain = 60 * time.Second

// Config is what a Provider needs. The zero value watches the default socket with
// the default settings of the labels.
type Config struct {
	// Endpoint is the engine's address, as in DOCKER_HOST: unix:///path, tcp://host:port,
	// http:// or https://. Empty means DefaultEndpoint.
	Endpoint string
	// CertPath is the folder with ca.pem, cert.pem and key.pem, as in DOCKER_CERT_PATH.
	CertPath string
	// TLSVerify is DOCKER_TLS_VERIFY: the engine's certificate must be valid.
	TLSVerify bool
	// Retain is how long the entrypoint of stopped containers answers 503 instead of
	// 404. 0 means DefaultRetain; negative means not at all.
	Retain time.Duration
	// DefaultNetwork is preferred where a container has several usable networks.
	DefaultNetwork string
	// Label holds the settings of the label parser.
	Label label.Config
	// ContainerID is the router's own container, for the cases in which it cannot be
	// found by itself (FAIRLEAD_CONTAINER_ID).
	ContainerID string
	// Without is advice for who has routes from elsewhere and uses no containers: it ends
	// the hint as long as the engine was never read. "" adds nothing.
	Without string
	Log     zerolog.Logger
}

// Provider watches one engine. Run may be called once at a time; Collect at any time.
type Provider struct {
	cfg     Config
	connect connector
	knock   func(context.Context) bool // nil where there is nothing to knock at
	self    selfFinder
	memory  Memory // nil without one
}

var _ provider.Provider = (*Provider)(nil)

// New validates the configuration and loads the TLS material once, so that mistakes
// are told at the start. It connects to nothing and starts nothing.
func New(cfg Config) (*Provider, error) {
	if cfg.Endpoint == "" {
		cfg.Endpoint = DefaultEndpoint
	}
	if cfg.Retain == 0 {
		cfg.Retain = DefaultRetain
	}
	if cfg.Label.Prefix == "" {
		cfg.Label.Prefix = "sozune"
	}
	cfg.Label.Prefix = strings.ToLower(cfg.Label.Prefix)
	ep, err := parseEndpoint(cfg)
	if err != nil {
		return nil, err
	}
	if _, err := ep.tls(); err != nil {
		return nil, err
	}
	return &Provider{cfg: cfg, connect: dialer(ep), knock: knocker(ep), self: systemSelf(cfg.ContainerID)}, nil
}

// Name implements provider.Provider.
func (p *Provider) Name() string { return ProviderName }

// endpoint is a parsed engine address.
type endpoint struct {
	raw       string
	network   string // unix or tcp
	address   string // path or host:port
	base      string // path prefix of a tcp endpoint
	secure    bool   // TLS
	certPath  string
	tlsVerify bool
	// open makes one connection; nil dials network and address.
	open func(context.Context) (net.Conn, error)
}

func parseEndpoint(cfg Config) (endpoint, error) {
	raw := cfg.Endpoint
	if filepath.IsAbs(raw) {
		raw = "unix://" + raw
	}
	ep := endpoint{raw: raw, certPath: cfg.CertPath, tlsVerify: cfg.TLSVerify}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || rest == "" {
		return ep, problem(nil, "write unix:///var/run/docker.sock or tcp://host:2375",
			"engine endpoint %q is not an address", withoutUser(raw))
	}
	switch strings.ToLower(scheme) {
	case "unix":
		ep.network, ep.address = "unix", rest
		return ep, nil
	case "tcp":
		ep.secure = cfg.CertPath != "" || cfg.TLSVerify
	case "http":
	case "https":
		ep.secure = true
	case "ssh":
		rest = withoutPassword(rest)
		return ep, problem(nil, sshHint(rest), "engine endpoint %q: ssh:// is not supported", scheme+"://"+rest)
	default:
		return ep, problem(nil, "use unix://, tcp://, http:// or https://",
			"engine endpoint %q: the scheme %q is not supported", withoutUser(raw), scheme)
	}
	if strings.Contains(rest, "@") { // the address is shown to all who may read the state
		return ep, problem(nil, "remove the user from the address; an engine is protected by TLS with client certificates (DOCKER_CERT_PATH)",
			"engine endpoint %q has a user, which no engine takes", withoutUser(raw))
	}
	host, base, _ := strings.Cut(rest, "/")
	ep.network, ep.base = "tcp", strings.Trim(base, "/")
	ep.address = withDefaultPort(host, ep.secure)
	return ep, nil
}

// withoutUser is an address as errors show it: without all that may be a user and a
// password, even where it is no URL.
func withoutUser(raw string) string {
	end := strings.LastIndexByte(raw, '@')
	if end < 0 {
		return raw
	}
	begin := 0
	if scheme, _, ok := strings.Cut(raw[:end], "://"); ok {
		begin = len(scheme) + len("://")
	}
	return raw[:begin] + route.Redacted + raw[end:]
}

// withoutPassword is the rest of an ssh address without a password.
func withoutPassword(rest string) string {
	end := strings.LastIndexByte(rest, '@')
	if end < 0 {
		return rest
	}
	user, _, _ := strings.Cut(rest[:end], ":")
	return user + rest[end:]
}

func sshHint(rest string) string {
	host, _, _ := strings.Cut(rest, "/")
	return "forward the socket and use the forwarded one: ssh -nNT -L /run/fairlead-docker.sock:/var/run/docker.sock " +
		host + ", then --docker unix:///run/fairlead-docker.sock; or run a read-only socket proxy there and use tcp://"
}

func withDefaultPort(host string, secure bool) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host
	}
	if secure {
		return host + ":2376"
	}
	return host + ":2375"
}

// fileExists is used for hints only.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
