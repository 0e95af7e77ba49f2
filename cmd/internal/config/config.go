// Package config reads the router's settings: flags, environment, one YAML file and
// defaults, in that order. The struct below is the one table of settings; reading,
// did-you-mean and the reference documentation come from its tags.
package config

import (
	"net/netip"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// Config holds every setting of this version. Start from Default: the zero value is
// not valid. Tags: key is the name in the file, doc the sentence of the reference,
// one the permitted words, min and max the permitted range (durations or integers).
type Config struct {
	Labels          Labels        `key:"labels"`
	Providers       Providers     `key:"providers"`
	Proxy           Proxy         `key:"proxy"`
	ShutdownDelay   time.Duration `key:"shutdownDelay" min:"0s" max:"1h" doc:"Time between the signal to stop and closing the listeners; in it /ready answers 503, and each answer ends its connection."`
	ShutdownTimeout time.Duration `key:"shutdownTimeout" min:"1ms" max:"1h" doc:"Time that requests in flight get at a stop; tunnels get half of it. Above 8s raise the container's stop_grace_period too."`
	HealthCheck     HealthCheck   `key:"healthCheck"`
	Strict          bool          `key:"strict" doc:"Refuse a file of entrypoints with a bad health check (W021): the start fails with file, line and key, and later what was read before stays."`
	Sticky          Sticky        `key:"sticky"`
	Certificates    Certificates  `key:"certificates"`
	Notify          Notify        `key:"notify"`
	Admin           Admin         `key:"admin"`
	Metrics         Metrics       `key:"metrics"`
	Log             Log           `key:"log"`
}

// Labels says which labels are read.
type Labels struct {
	Prefix          string `key:"prefix" doc:"Prefix of the labels that are read, lower case."`
	ExposeByDefault bool   `key:"exposeByDefault" doc:"Route containers that carry labels of ours without <prefix>.enable=true."`
}

// Providers are the sources of entrypoints.
type Providers struct {
	Docker Docker `key:"docker"`
	File   File   `key:"file"`
}

// Docker configures the Docker provider.
type Docker struct {
	Enabled        bool   `key:"enabled" doc:"Watch a Docker engine."`
	Endpoint       string `key:"endpoint" doc:"Address of the engine: unix:///path, tcp://host:port, http:// or https://. Without it DOCKER_HOST, else unix:///var/run/docker.sock."`
	CertPath       string `key:"certPath" doc:"Folder with ca.pem, cert.pem and key.pem for a tcp endpoint. Without it DOCKER_CERT_PATH."`
	TLSVerify      bool   `key:"tlsVerify" doc:"The engine's certificate must be valid. Without it true when DOCKER_TLS_VERIFY is not empty."`
	RetainSeconds  int    `key:"retainSeconds" min:"0" max:"86400" doc:"Seconds for which the entrypoint of a stopped container answers 503 instead of 404."`
	DefaultNetwork string `key:"defaultNetwork" doc:"Network whose address is preferred when a container has several usable ones."`
}

// File configures the file provider.
type File struct {
	Path string `key:"path" doc:"YAML or JSON file with entrypoints; it is watched. Empty turns the provider off."`
}

// Proxy configures the data plane.
type Proxy struct {
	HTTP           HTTP           `key:"http"`
	TrustedProxies []netip.Prefix `key:"trustedProxies" doc:"Addresses and networks of proxies in front whose forwarding headers are believed."`
	Timeouts       Timeouts       `key:"timeouts"`
	Limits         Limits         `key:"limits"`
}

// HTTP configures the plain HTTP listener.
type HTTP struct {
	Listen    string `key:"listen" doc:"Address of the HTTP listener; empty turns it off."`
	ReusePort bool   `key:"reusePort" doc:"Share the address (SO_REUSEPORT) with another router of the same user, so that a new one can take over from a running one. Both need it; Linux only."`
}

// Timeouts bound how long a peer may keep a connection waiting.
type Timeouts struct {
	Header      time.Duration `key:"header" min:"1ms" max:"1h" doc:"Time to read a request head."`
	BodyIdle    time.Duration `key:"bodyIdle" min:"1ms" max:"24h" doc:"Time between two bytes of a body, in either direction."`
	Idle        time.Duration `key:"idle" min:"1ms" max:"24h" doc:"Time that a client connection may wait between requests."`
	BackendIdle time.Duration `key:"backendIdle" min:"1ms" max:"1h" doc:"Time that a connection to a backend waits for its next request."`
	Continue    time.Duration `key:"continue" min:"1ms" max:"1h" doc:"Time that a backend gets to say 100 (Continue) before the body of a request that expects it is sent all the same."`
}

// Limits bound what a peer may make the router hold.
type Limits struct {
	RequestLineBytes    int `key:"requestLineBytes" min:"256" max:"16777216" doc:"Size of a request line; a longer one gets 431."`
	HeaderBytes         int `key:"headerBytes" min:"1024" max:"16777216" doc:"Size of a request line and its headers."`
	ResponseHeaderBytes int `key:"responseHeaderBytes" min:"1024" max:"16777216" doc:"Size of the headers of a backend's response."`
	Streams             int `key:"streams" min:"1" max:"100000" doc:"Concurrent streams of one HTTP/2 connection."`
}

// HealthCheck configures the prober as a whole; labels configure each check.
type HealthCheck struct {
	Tick           time.Duration `key:"tick" min:"10ms" max:"1m" doc:"Step of the scheduler; intervals are rounded up to it."`
	Concurrency    int           `key:"concurrency" min:"1" max:"100000" doc:"Probes in flight at most."`
	PerHost        int           `key:"perHost" min:"1" max:"100000" doc:"Probes in flight to one host at most."`
	StartupSpread  time.Duration `key:"startupSpread" min:"1ms" max:"1m" doc:"Time over which the first probes of a batch are spread."`
	AllowLoopback  bool          `key:"allowLoopback" doc:"Let probes and traffic reach loopback addresses that no provider derived itself."`
	AllowLinkLocal bool          `key:"allowLinkLocal" doc:"Let probes reach link-local addresses; cloud metadata addresses stay refused."`
}

// Sticky configures the cookies of sticky sessions.
type Sticky struct {
	Key route.Secret `key:"key" doc:"Secret that the values of the cookies are made with, 16 bytes at least. Routers with one key know each other's cookies; without it each start draws another one, and clients move once."`
}

// Notify tells others what happens.
type Notify struct {
	Webhook Webhook `key:"webhook"`
}

// Webhook gets transitions as JSON by POST.
type Webhook struct {
	// URL is secret as a whole: chat services put their token into the path.
	URL     route.Secret  `key:"url" doc:"http or https address that gets each transition of a backend or entrypoint as JSON by POST; empty turns it off."`
	Secret  route.Secret  `key:"secret" doc:"Key of the signature (HMAC-SHA256) of each notice; empty does not sign."`
	Level   string        `key:"level" one:"info,warn" doc:"Least severity that is sent: warn is what gets worse, info the way back too."`
	Timeout time.Duration `key:"timeout" min:"100ms" max:"1m" doc:"Time that the receiver gets for one notice."`
	Queue   int           `key:"queue" min:"1" max:"100000" doc:"Notices that wait at most while the receiver does not answer; what does not fit is dropped and counted."`
}

// Certificates configures trust and identity towards backends.
type Certificates struct {
	Authorities map[string]string `key:"authorities" doc:"PEM files of certificate authorities by the name that the label backendTLS.ca uses."`
	Clients     map[string]string `key:"clients" doc:"PEM files of client certificates by the name that the label backendTLS.clientCert uses: one file that holds certificate and key, or two with a space between them, the certificate first."`
}

// Admin configures the admin listener.
type Admin struct {
	Listen    string   `key:"listen" doc:"Address of the admin listener (API); empty turns it off."`
	Hosts     []string `key:"hosts" doc:"Names besides localhost under which the admin listener answers; addresses always pass."`
	Verbose   bool     `key:"verbose" doc:"Let /ready name every entrypoint with its counts to anybody; to users it always does."`
	Readiness string   `key:"readiness" one:"process,any" doc:"What /ready tells of a started router: process is always ready, any is not while an entrypoint serves nothing verified."`
	StateFile string   `key:"stateFile" doc:"File that keeps orders (drain, maintenance) and claims over a restart; empty keeps them in memory alone."`
	Anonymous string   `key:"anonymous" one:"off,read-only" doc:"What peers may do without credentials; with off and no users, peers from this machine may read."`
	// Users are read-only unless they say admin.
	Users []api.User `key:"users" doc:"Who may log in: name, passwordHash and role (admin or read-only, the default). As a variable name:role:hash, separated by spaces."`
}

// Metrics configures what Prometheus scrapes.
type Metrics struct {
	Enabled bool   `key:"enabled" doc:"Answer GET /metrics."`
	Listen  string `key:"listen" doc:"Address of a listener for /metrics alone, which asks for no user; empty puts them on the admin listener, behind its guards."`
}

// Stdout is the path that stands for standard output.
const Stdout = "stdout"

// Access configures the access log.
type Access struct {
	Path      string `key:"path" doc:"File that gets a line of JSON for each request, or stdout; empty turns the access log off."`
	Query     string `key:"query" one:"redact,drop,keep" doc:"What a line shows of a query: the names with *** for values, nothing, or all of it."`
	Sample    int    `key:"sample" min:"1" max:"1000000" doc:"Write one of so many requests; those with a status of 500 or more are all written."`
	MaxSizeMB int    `key:"maxSizeMB" min:"0" max:"1048576" doc:"MiB at which the file is set aside as PATH.1; 0 is never (SIGHUP opens a file anew that was moved away)."`
	Keep      int    `key:"keep" min:"1" max:"1000" doc:"Files that are kept besides the current one."`
}

// Log configures the log, which goes to standard error.
type Log struct {
	Level  string            `key:"level" one:"trace,debug,info,warn,error,off" doc:"Least severity that is logged."`
	Format string            `key:"format" one:"auto,json,console" doc:"auto is console on a terminal and json elsewhere."`
	Levels map[string]string `key:"levels" doc:"Level by component: app, docker, file, healthcheck, proxy, router, api. With healthcheck at trace there is a line for each probe."`
	Access Access            `key:"access"`
}

// Components are the names that log.levels may use.
func Components() []string {
	return []string{"api", "app", "docker", "file", "healthcheck", "proxy", "router"}
}

// Default returns the settings of a start without file, flags and environment.
func Default() Config {
	return Config{
		Labels:          Labels{Prefix: "sozune"},
		Providers:       Providers{Docker: Docker{Enabled: true, RetainSeconds: 60}},
		ShutdownTimeout: 8 * time.Second,
		Proxy: Proxy{
			HTTP: HTTP{Listen: ":80"},
			Timeouts: Timeouts{
				Header: 10 * time.Second, BodyIdle: time.Minute, Idle: 75 * time.Second, BackendIdle: 4 * time.Second,
				Continue: time.Second,
			},
			Limits: Limits{RequestLineBytes: 16 << 10, HeaderBytes: 64 << 10, ResponseHeaderBytes: 256 << 10, Streams: 250},
		},
		HealthCheck: HealthCheck{Tick: time.Second, Concurrency: 256, PerHost: 8, StartupSpread: time.Second},
		Notify:      Notify{Webhook: Webhook{Level: "info", Timeout: 5 * time.Second, Queue: 1000}},
		Admin:       Admin{Listen: "127.0.0.1:3035", Readiness: "process", Anonymous: "off"},
		Metrics:     Metrics{Enabled: true},
		Log:         Log{Level: "info", Format: "auto", Access: Access{Query: "redact", Sample: 1, MaxSizeMB: 100, Keep: 5}},
	}
}
