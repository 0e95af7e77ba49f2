package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// check finds settings that do not go together, and values whose form no type holds.
func (r *reader) check() {
	c := &r.config
	r.checkPrefix()
	r.checkListeners()
	r.checkLevels()
	r.checkUsers()
	if !c.Providers.Docker.Enabled && c.Providers.File.Path == "" {
		r.contradiction("providers.docker.enabled", "no provider is left: nothing would ever be routed",
			"enable Docker or set providers.file.path")
	}
	r.checkLimits()
	switch {
	case c.HealthCheck.PerHost <= c.HealthCheck.Concurrency:
	case r.origins["healthCheck.perHost"] == "":
		c.HealthCheck.PerHost = c.HealthCheck.Concurrency // only the default is too large
	default:
		r.contradiction("healthCheck.perHost", fmt.Sprintf("%d probes per host are more than healthCheck.concurrency permits in all (%d)",
			c.HealthCheck.PerHost, c.HealthCheck.Concurrency), "raise the one or lower the other")
	}
	r.checkCertificates()
	r.checkSecrets()
	if total := c.ShutdownDelay + c.ShutdownTimeout; total > 8*time.Second {
		r.warnings = append(r.warnings, fmt.Sprintf("a stop may take %s: Docker kills a container after 10s unless stop_grace_period is longer", total))
	}
}

// contradiction reports a mistake where the setting was given.
func (r *reader) contradiction(path, message, fix string) {
	r.contradictionOf(path, path, message, fix)
}

// contradictionOf names a setting otherwise than by the place where it was given.
func (r *reader) contradictionOf(path, name, message, fix string) {
	where := r.origins[path]
	if where == "" {
		for parent := path; where == "" && strings.Contains(parent, "."); {
			parent = parent[:strings.LastIndexByte(parent, '.')]
			where = r.origins[parent]
		}
	}
	r.problems = append(r.problems, Problem{Where: where, Message: name + ": " + message, Fix: fix})
}

func (r *reader) checkPrefix() {
	p := r.config.Labels.Prefix
	permitted := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
	}
	switch {
	case p == "":
		r.contradiction("labels.prefix", "is empty", "remove it to use sozune")
	case p != strings.ToLower(p):
		r.contradiction("labels.prefix", fmt.Sprintf("%q has capitals, and label keys are lower case", p), "write "+strings.ToLower(p))
	case strings.ContainsFunc(p, func(c rune) bool { return !permitted(c) }) || strings.Trim(p, ".") != p:
		r.contradiction("labels.prefix", fmt.Sprintf("%q is not a label prefix", p), "use letters, digits, -, _ and dots inside")
	}
}

// checkLimits finds a request line that could never be read.
func (r *reader) checkLimits() {
	l := &r.config.Proxy.Limits
	switch {
	case l.RequestLineBytes <= l.HeaderBytes:
	case r.origins["proxy.limits.requestLineBytes"] == "":
		l.RequestLineBytes = l.HeaderBytes // only the default is too large
	default:
		r.contradiction("proxy.limits.requestLineBytes", fmt.Sprintf("%d bytes are more than proxy.limits.headerBytes permits for the line and the headers together (%d)",
			l.RequestLineBytes, l.HeaderBytes), "raise the one or lower the other")
	}
}

func (r *reader) checkListeners() {
	c := &r.config
	http := r.checkAddress("proxy.http.listen", c.Proxy.HTTP.Listen)
	admin := r.checkAddress("admin.listen", c.Admin.Listen)
	if c.Proxy.HTTP.Listen == "" && c.Admin.Listen == "" {
		r.contradiction("proxy.http.listen", "both listeners are turned off", "give proxy.http.listen or admin.listen an address")
	}
	r.checkMetrics(http, admin)
	if overlap(http, admin) {
		r.contradiction("admin.listen", fmt.Sprintf("%s is taken by proxy.http.listen (%s)", c.Admin.Listen, c.Proxy.HTTP.Listen),
			"give them different ports")
	}
	for _, h := range c.Admin.Hosts {
		if h == "" || strings.ContainsAny(h, "/*: ") {
			r.contradiction("admin.hosts", fmt.Sprintf("%q is not a host name", h), "give names without scheme, port and path")
		}
	}
}

// checkMetrics finds a listener of metrics that cannot be.
func (r *reader) checkMetrics(http, admin address) {
	listen := r.config.Metrics.Listen
	if own := r.checkAddress("metrics.listen", listen); overlap(own, http) || overlap(own, admin) {
		r.contradiction("metrics.listen", listen+" is taken by another listener",
			"choose another port; without metrics.listen they are on the admin listener")
	}
}

// address is a listening address taken apart; port 0 is any free one.
type address struct {
	ip   netip.Addr // not valid for all addresses
	port int
	name bool
}

func (r *reader) checkAddress(path, text string) address {
	if text == "" {
		return address{}
	}
	host, portText, err := net.SplitHostPort(text)
	if err != nil {
		fix := "write host:port, such as 127.0.0.1:8080 or :80"
		if _, atoi := strconv.Atoi(text); atoi == nil {
			fix = "write :" + text
		}
		r.contradiction(path, fmt.Sprintf("%q is not an address", text), fix)
		return address{}
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		r.contradiction(path, fmt.Sprintf("%q has no port from 0 to 65535", text), "write host:port, such as 127.0.0.1:8080 or :80")
		return address{}
	}
	ip, err := netip.ParseAddr(host)
	return address{ip: ip, port: port, name: host != "" && err != nil}
}

// overlap reports whether two listeners cannot exist side by side.
func overlap(a, b address) bool {
	if a.port != b.port || a.port == 0 || a.name || b.name {
		return false
	}
	wide := func(x address) bool { return !x.ip.IsValid() || x.ip.IsUnspecified() }
	return wide(a) || wide(b) || a.ip == b.ip
}

func (r *reader) checkLevels() {
	levels := strings.Split("trace,debug,info,warn,error,off", ",")
	for _, name := range slices.Sorted(maps.Keys(r.config.Log.Levels)) {
		path := "log.levels." + name
		if !slices.Contains(Components(), name) {
			r.contradiction(path, "no component has that name", notOneOf(name, Components()))
			continue
		}
		if level := r.config.Log.Levels[name]; !slices.Contains(levels, level) {
			r.contradiction(path, notOneOf(level, levels), "")
		}
	}
}
