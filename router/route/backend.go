package route

import (
	"strconv"
	"strings"
	"time"
)

// Scheme is the protocol spoken to a backend.
type Scheme string

// Schemes of the label grammar.
const (
	SchemeHTTP  Scheme = "http"
	SchemeHTTPS Scheme = "https"
	SchemeH2C   Scheme = "h2c"
)

// DefaultPort is the port that a Host header may leave out.
func (s Scheme) DefaultPort() uint16 {
	if s == SchemeHTTPS {
		return 443
	}
	return 80
}

// ProviderState is the provider's word about a backend.
type ProviderState string

// Provider states (health.md, "Admin, provider, load, warm-up layers").
const (
	ProviderPresent   ProviderState = "present"
	ProviderStarting  ProviderState = "starting"
	ProviderUnhealthy ProviderState = "unhealthy"
	ProviderLeaving   ProviderState = "leaving"
)

// DockerHealth says how Docker's HEALTHCHECK is honoured.
type DockerHealth string

// Modes of the dockerHealth label. The provider applies them when it sets
// ProviderState: report and ignore never gate, ignore does not even show.
const (
	DockerHealthPrefer  DockerHealth = "prefer"
	DockerHealthRequire DockerHealth = "require"
	DockerHealthReport  DockerHealth = "report"
	DockerHealthIgnore  DockerHealth = "ignore"
)

// Backend is one instance we can send to. Two backends are the same placement when
// entrypoint and Incarnation are equal.
type Backend struct {
	ID   string // unique in its entrypoint: 12 hex digits of the container, or host:port
	Name string
	// Container is nil for static backends.
	Container *Container
	// Incarnation changes with every restart and every new owner of an address.
	Incarnation string
	Host        string // IP literal without brackets, or a name (static backends)
	Port        uint16
	Scheme      Scheme
	TLS         BackendTLS
	DialTimeout time.Duration
	Weight      int // 0 is a backup
	// MaxConnections is how many requests it gets at once; 0 is no limit.
	MaxConnections int
	// SlowStart is the time in which a backend that came back gets from SlowStartMin
	// percent of its weight to all of it; 0 is off.
	SlowStart    time.Duration
	SlowStartMin int
	Docker       DockerHealth
	Provider     ProviderState
	// StartedAt is the container's start; initialDelay counts from it. Zero for static backends.
	StartedAt time.Time
	// Loopback is set when the provider itself derived a loopback address
	// (network_mode: host) or the file names one; otherwise loopback is refused.
	Loopback bool
	// Check is nil when the backend is not probed.
	Check *Check
}

// Address returns host:port, IPv6 in brackets.
func (b *Backend) Address() string { return JoinHostPort(b.Host, b.Port) }

// AppendAddress appends Address to buf.
func (b *Backend) AppendAddress(buf []byte) []byte {
	if strings.ContainsRune(b.Host, ':') {
		buf = append(append(append(buf, '['), b.Host...), ']')
	} else {
		buf = append(buf, b.Host...)
	}
	return strconv.AppendUint(append(buf, ':'), uint64(b.Port), 10)
}

// Container is what answers show of the container behind a backend.
type Container struct {
	ID        string // full id
	Name      string // without the leading slash
	Image     string
	CreatedAt time.Time
	StartedAt time.Time
	Health    string // none, starting, healthy, unhealthy
}

// BackendTLS configures TLS towards a backend.
type BackendTLS struct {
	ServerName         string // "" means the backend's host
	InsecureSkipVerify bool
	CA                 string // name of a CA in the configuration, "" means the system's
	// ClientCert is the name of a client certificate in the configuration, "" for none.
	ClientCert string
}
