package config

import (
	"strings"
	"testing"
	"time"
)

func TestVariables(t *testing.T) {
	for _, c := range []struct {
		env   string
		check func(*Config) bool
	}{
		{"FAIRLEAD_LABELS_EXPOSEBYDEFAULT=true", func(c *Config) bool { return c.Labels.ExposeByDefault }},
		{"FAIRLEAD_PROVIDERS_DOCKER_RETAINSECONDS= 4 ", func(c *Config) bool { return c.Providers.Docker.RetainSeconds == 4 }},
		{"FAIRLEAD_PROXY_TRUSTEDPROXIES=10.0.0.0/8, ::1,", func(c *Config) bool { return len(c.Proxy.TrustedProxies) == 2 }},
		{"FAIRLEAD_PROXY_TRUSTEDPROXIES=", func(c *Config) bool { return len(c.Proxy.TrustedProxies) == 0 }},
		{"FAIRLEAD_SHUTDOWNTIMEOUT=1500", func(c *Config) bool { return c.ShutdownTimeout == 1500*time.Millisecond }},
		{"FAIRLEAD_PROXY_LIMITS_HEADERBYTES=4096", func(c *Config) bool { return c.Proxy.Limits.RequestLineBytes == 4096 }},
		{"FAIRLEAD_PROXY_HTTP_REUSEPORT=true", func(c *Config) bool { return c.Proxy.HTTP.ReusePort }},
		{"FAIRLEAD_HEALTHCHECK_CONCURRENCY=4", func(c *Config) bool { return c.HealthCheck.PerHost == 4 }},
		{"FAIRLEAD_ADMIN_LISTEN=", func(c *Config) bool { return c.Admin.Listen == "" }},
		{"FAIRLEAD_ADMIN_ANONYMOUS=read-only", func(c *Config) bool { return c.Admin.Anonymous == "read-only" }},
		{"FAIRLEAD_LOG_LEVELS=healthcheck=trace, proxy = warn", func(c *Config) bool {
			return c.Log.Levels["healthcheck"] == "trace" && c.Log.Levels["proxy"] == "warn"
		}},
		{"DOCKER_HOST=tcp://engine:2375", func(c *Config) bool { return c.Providers.Docker.Endpoint == "tcp://engine:2375" }},
		{"DOCKER_CERT_PATH=/certs", func(c *Config) bool { return c.Providers.Docker.CertPath == "/certs" }},
		{"DOCKER_TLS_VERIFY=1", func(c *Config) bool { return c.Providers.Docker.TLSVerify }},
		{"FAIRLEAD_STICKY_KEY= 0123456789abcdef ", func(c *Config) bool { return c.Sticky.Key.Reveal() == "0123456789abcdef" }},
		{"FAIRLEAD_CERTIFICATES_CLIENTS=edge=/c.pem /k.pem,shop=/s.pem", func(c *Config) bool {
			cert, key := ClientFiles(c.Certificates.Clients["edge"])
			same, again := ClientFiles(c.Certificates.Clients["shop"])
			return cert == "/c.pem" && key == "/k.pem" && same == "/s.pem" && again == same
		}},
		{"FAIRLEAD_STRICT=true", func(c *Config) bool { return c.Strict }},
		{"FAIRLEAD_ADMIN_STATEFILE=/var/lib/state", func(c *Config) bool { return c.Admin.StateFile == "/var/lib/state" }},
		{"FAIRLEAD_ADMIN=http://127.0.0.1:1", func(*Config) bool { return true }},
		{"FAIRLEAD_CONTAINER_ID=abc", func(*Config) bool { return true }},
	} {
		l := load(t, Source{Env: []string{c.env}})
		if !c.check(&l.Config) || len(l.Warnings) > 0 {
			t.Errorf("%s: %+v, warnings %v", c.env, l.Config, l.Warnings)
		}
	}
}

func TestWrongVariables(t *testing.T) {
	for env, want := range map[string]string{
		"FAIRLEAD_PROXY_TRUSTED_PROXIES=::1":       "FAIRLEAD_PROXY_TRUSTED_PROXIES: not a setting: did you mean FAIRLEAD_PROXY_TRUSTEDPROXIES?",
		"FAIRLEAD_LABELS_PREFX=x":                  "did you mean FAIRLEAD_LABELS_PREFIX?",
		"FAIRLEAD_TRACING_ENDPOINT=ops":            "FAIRLEAD_TRACING_ENDPOINT: tracing is not in this version: remove it",
		"FAIRLEAD_STICKY_KEY=c4nary":               "FAIRLEAD_STICKY_KEY: sticky.key: has 6 bytes: cookies made with it could be guessed: give 16 bytes or more",
		"FAIRLEAD_NOTIFY_WEBHOOK_URL=c4nary":       "FAIRLEAD_NOTIFY_WEBHOOK_URL: notify.webhook.url: is not an http or https address",
		"FAIRLEAD_NOTIFY_WEBHOOK_SECRET=c4nary":    "notify.webhook.secret: there is nothing to sign without notify.webhook.url",
		"FAIRLEAD_NOTIFY_WEBHOOK_LEVEL=error":      `"error" is not one of info or warn`,
		"FAIRLEAD_NOTIFY_WEBHOOK_QUEUE=0":          "0 is out of range: 1 to 100000",
		"FAIRLEAD_ADMIN_READINESS=all":             `"all" is not one of process or any`,
		"FAIRLEAD_CERTIFICATES_CLIENTS=a=x y z":    "certificates.clients.a: 3 files are named, 2 at most",
		"FAIRLEAD_CERTIFICATES_CLIENTS=a= ":        "certificates.clients.a: no file is named",
		"FAIRLEAD_ADMIN_USERS=c4nary":              "FAIRLEAD_ADMIN_USERS: admin.users: is not name:role:hash",
		"FAIRLEAD_ADMIN_USERS=c4nary:admin":        "is not name:role:hash",
		"FAIRLEAD_ADMIN_USERS=ops:admin:c4nary":    `admin.users: the user "ops" has a passwordHash that is no hash of a known form`,
		"FAIRLEAD_ADMIN_USERS=ops:boss:" + hash:    `admin.users: the user "ops" has a role that is neither admin nor read-only`,
		"FAIRLEAD_ACME_EMAIL=a@example.com":        "acme is not in this version",
		"FAIRLEAD_LABELS_EXPOSEBYDEFAULT=si":       `FAIRLEAD_LABELS_EXPOSEBYDEFAULT: labels.exposeByDefault: "si" is neither true nor false`,
		"FAIRLEAD_HEALTHCHECK_PERHOST=many":        `"many" is not a whole number`,
		"FAIRLEAD_HEALTHCHECK_PERHOST=0":           "0 is out of range: 1 to 100000",
		"FAIRLEAD_SHUTDOWNTIMEOUT=soon":            `"soon" is not a duration`,
		"FAIRLEAD_SHUTDOWNTIMEOUT=0":               "0s is out of range: 1ms to 1h",
		"FAIRLEAD_SHUTDOWNTIMEOUT=":                `"" is not a duration`,
		"FAIRLEAD_LOG_LEVEL=inf":                   "did you mean info?",
		"FAIRLEAD_LOG_LEVELS=proxy":                `"proxy" is not name=value`,
		"FAIRLEAD_PROXY_TRUSTEDPROXIES=10.0.0.1/8": "write 10.0.0.0/8 for the network or 10.0.0.1 for the one address",
		"FAIRLEAD_ADMIN_LISTEN=3035":               "write :3035",
		"FAIRLEAD_ADMIN_LISTEN=127.0.0.1:70000":    "no port from 0 to 65535",
	} {
		if _, err := loadErr(Source{Env: []string{env}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", env, err, want)
		} else if strings.Contains(err.Error(), "c4nary") {
			t.Errorf("%s: the value shows: %v", env, err)
		}
	}
	l := load(t, Source{Env: []string{"FAIRLEAD_E2E=1", "FAIRLEAD_ADMIN_PORT=3035", "OTHER=1", "odd"}})
	if len(l.Warnings) != 2 || !strings.HasPrefix(l.Warnings[0], "FAIRLEAD_ADMIN_PORT is not a setting") {
		t.Errorf("variables of others are mentioned, not refused: %v", l.Warnings)
	}
}

func TestEngineOfTheFileBeatsDockersVariables(t *testing.T) {
	file := write(t, "providers: {docker: {endpoint: tcp://a:2375, certPath: /a, tlsVerify: false}}\n")
	c := load(t, Source{Path: file, Env: []string{"DOCKER_HOST=tcp://b:2375", "DOCKER_CERT_PATH=/b", "DOCKER_TLS_VERIFY=1"}}).Config
	if d := c.Providers.Docker; d.Endpoint != "tcp://a:2375" || d.CertPath != "/a" || d.TLSVerify {
		t.Errorf("%+v", d)
	}
}
