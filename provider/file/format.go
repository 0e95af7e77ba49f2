package file

// document is the whole file.
type document struct {
	Entrypoints []entry `key:"entrypoints"`
}

// entry is one entrypoint as it is written.
type entry struct {
	Name     string    `key:"name"`
	Protocol string    `key:"protocol"`
	Backends []backend `key:"backends"`
	Config   *settings `key:"config"`
	At       position  // set by the decoder
}

// backend is one address with the settings that are its own.
type backend struct {
	Address       string      `key:"address"`
	Port          *int        `key:"port"`
	Weight        *int        `key:"weight"`
	Scheme        *string     `key:"scheme"`
	DialTimeoutMS *int        `key:"dial_timeout_ms"`
	TLS           *backendTLS `key:"tls"`

	MaxConnections      *int `key:"max_connections"`
	SlowStartMS         *int `key:"slow_start_ms"`
	SlowStartMinPercent *int `key:"slow_start_min_percent"`
}

type backendTLS struct {
	ServerName         *string `key:"server_name"`
	InsecureSkipVerify bool    `key:"insecure_skip_verify"`
	CA                 *string `key:"ca"`
	ClientCert         *string `key:"client_cert"`
}

// settings are the config of an entrypoint, under Sōzune's names. A key that restricts
// who may come in closes the route when nothing stands behind it (null:"empty").
type settings struct {
	Hostnames         []string          `key:"hostnames"`
	Path              *pathRule         `key:"path"`
	Methods           []string          `key:"methods"`
	Priority          *int              `key:"priority"`
	MatchHeaders      []pair            `key:"match_headers"`
	MatchQuery        []pair            `key:"match_query"`
	MatchClientIP     []string          `key:"match_client_ip" null:"empty"`
	TLS               bool              `key:"tls"`
	StripPrefix       bool              `key:"strip_prefix"`
	AddPrefix         *string           `key:"add_prefix"`
	HTTPSRedirect     bool              `key:"https_redirect"`
	HTTPSRedirectPort *int              `key:"https_redirect_port"`
	Redirect          *string           `key:"redirect"`
	RedirectScheme    *string           `key:"redirect_scheme"`
	RedirectTemplate  *string           `key:"redirect_template"`
	WWWAuthenticate   *string           `key:"www_authenticate"`
	Auth              *auth             `key:"auth" null:"empty"`
	ForwardAuth       *forwardAuth      `key:"forward_auth" null:"empty"`
	Headers           []header          `key:"headers"`
	BackendTimeout    *int              `key:"backend_timeout"` // seconds
	HealthCheck       *healthCheck      `key:"health_check"`
	LoadBalancer      *string           `key:"load_balancer"`
	StickySession     bool              `key:"sticky_session"`
	StickyCookie      *stickyCookie     `key:"sticky_cookie"`
	Retry             *retry            `key:"retry"`
	CircuitBreaker    *breaker          `key:"circuit_breaker"`
	Passive           *passive          `key:"passive"`
	Queue             *queue            `key:"queue"`
	RateLimit         *rateLimit        `key:"rate_limit"`
	InFlightReq       *int              `key:"in_flight_req"`
	IPAllowList       []string          `key:"ip_allow_list" null:"empty"`
	Compress          bool              `key:"compress"`
	ErrorPages        map[string]string `key:"error_pages"`
	Panic             *string           `key:"panic"`
	PanicThreshold    *int              `key:"panic_threshold"`
	NoBackendStatus   *int              `key:"no_backend_status"`
	OnDown            *string           `key:"on_down"`
	DrainTimeoutMS    *int              `key:"drain_timeout_ms"`
	HoldForMS         *int              `key:"hold_for_ms"`
	Entrypoint        *string           `key:"entrypoint"` // listener of tcp and udp
}

type pathRule struct {
	RuleType string `key:"rule_type"`
	Value    string `key:"value"`
}

// pair is a condition; without a value presence is enough.
type pair struct {
	Key   string  `key:"key"`
	Value *string `key:"value"`
}

type auth struct {
	Basic []user `key:"basic"`
}

type user struct {
	Username     string `key:"username"`
	PasswordHash string `key:"password_hash"`
}

type forwardAuth struct {
	Address            string   `key:"address"`
	ResponseHeaders    []string `key:"response_headers"`
	TrustForwardHeader bool     `key:"trust_forward_header"`
}

type header struct {
	Name      string  `key:"name"`
	Value     string  `key:"value"`
	Direction *string `key:"direction"`
}

type healthCheck struct {
	Enabled            *bool             `key:"enabled"`
	Path               *string           `key:"path"`
	Status             *textOrNumber     `key:"status"`
	TimeoutMS          *int              `key:"timeout_ms"`
	IntervalMS         *int              `key:"interval_ms"`
	Port               *int              `key:"port"`
	UnhealthyThreshold *int              `key:"unhealthy_threshold"`
	HealthyThreshold   *int              `key:"healthy_threshold"`
	Headers            map[string]string `key:"headers"`
	Host               *string           `key:"host"`
	Initial            *string           `key:"initial"`
	InitialDelayMS     *int              `key:"initial_delay_ms"`
	Type               *string           `key:"type"`
	Scheme             *string           `key:"scheme"`
	SNI                *string           `key:"sni"`
	Method             *string           `key:"method"`
	FollowRedirects    bool              `key:"follow_redirects"`
	Body               *body             `key:"body"`
	GRPCService        *string           `key:"grpc_service"`
	InsecureSkipVerify *bool             `key:"insecure_skip_verify"`
	FastIntervalMS     *int              `key:"fast_interval_ms"`
	DownIntervalMS     *int              `key:"down_interval_ms"`
	JitterPercent      *int              `key:"jitter_percent"`
}

// body is what the answer to a probe must hold.
type body struct {
	Contains *string `key:"contains"`
	Regex    *string `key:"regex"`
}

type retry struct {
	Attempts      *int           `key:"attempts"`
	On            []textOrNumber `key:"on"`
	Methods       []string       `key:"methods"`
	TryDurationMS *int           `key:"try_duration_ms"`
	TryIntervalMS *int           `key:"try_interval_ms"`
}

// passive is how real traffic judges backends.
type passive struct {
	Failures           *int          `key:"failures"`
	WindowMS           *int          `key:"window_ms"`
	Panic              *bool         `key:"panic"`
	Status             *textOrNumber `key:"status"`
	LatencyMS          *int          `key:"latency_ms"`
	EjectionTimeMS     *int          `key:"ejection_time_ms"`
	MaxEjectionTimeMS  *int          `key:"max_ejection_time_ms"`
	MaxEjectionPercent *int          `key:"max_ejection_percent"`
	Recovery           *string       `key:"recovery"`
	Trials             *int          `key:"trials"`
	FeedsActive        bool          `key:"feeds_active"`
}

// queue is where requests wait while every backend is full.
type queue struct {
	Size      *int `key:"size"`
	TimeoutMS *int `key:"timeout_ms"`
}

type stickyCookie struct {
	Name       *string `key:"name"`
	Secure     bool    `key:"secure"`
	SameSite   *string `key:"same_site"`
	MaxAgeSecs *int    `key:"max_age_secs"`
}

type breaker struct {
	Threshold    *number `key:"threshold"`
	MinRequests  *int    `key:"min_requests"`
	CooldownSecs *int    `key:"cooldown_secs"`
}

type rateLimit struct {
	Average *int `key:"average"`
	Burst   *int `key:"burst"`
}

// textOrNumber keeps what was written, as text.
type textOrNumber string

// number is a number with or without a fraction, as it was written.
type number string
