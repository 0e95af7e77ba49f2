package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// optionGroup is a part of an entrypoint's configuration.
type optionGroup struct {
	Name string
	Rows []optionRow
}

// optionRow is one setting and where it comes from.
type optionRow struct {
	Name, Value string
	Origin      string // the label, "" for a default
	// Own is set for what each backend has of its own and what is no default.
	Own bool
}

// OriginParts are the pieces between which a line may end.
func (r optionRow) OriginParts() []string { return strings.SplitAfter(r.Origin, ".") }

// optionGroups are what the entrypoint matches, and what is done with its requests.
func optionGroups(v *router.EntrypointView, e *api.Entrypoint) []optionGroup {
	o := originsOf(v.Entrypoint)
	groups := []optionGroup{{"Takes", takes(&e.Config, o)}, {"Does", does(v.Entrypoint, &e.Config, o)}}
	if judged := judges(v.Entrypoint, o); judged != nil {
		groups = append(groups, optionGroup{"Judges by traffic", judged})
	}
	if check := checks(v.Entrypoint, &e.Config, o); check != nil {
		groups = append(groups, optionGroup{"Asks its backends", check})
	}
	return groups
}

// rows collects settings that say something.
type rows struct {
	list    []optionRow
	origins origins
}

func (r *rows) add(name, value string, keys ...string) {
	if value != "" {
		r.list = append(r.list, optionRow{Name: name, Value: value, Origin: r.origins.of(keys...)})
	}
}

// own adds a setting that each backend has for itself.
func (r *rows) own(name, value string) {
	r.list = append(r.list, optionRow{Name: name, Value: value, Own: true})
}

func takes(c *api.EntrypointConfig, o origins) []optionRow {
	r := rows{origins: o}
	r.add("Hosts", strings.Join(c.Hostnames, ", "), "host")
	path := "any"
	if c.Path != nil {
		path = strings.ToLower(c.Path.RuleType) + " " + c.Path.Value
	}
	r.add("Path", path, "path", "prefix", "pathexact", "pathregex")
	methods := strings.Join(c.Methods, ", ")
	if methods == "" {
		methods = "any"
	}
	r.add("Methods", methods, "methods")
	r.add("Headers", conditions(c.MatchHeaders), "matchheaders")
	r.add("Query", conditions(c.MatchQuery), "matchquery")
	clients := strings.Join(c.MatchClientIP, ", ")
	if c.MatchClientNobody {
		clients = "nobody"
	}
	r.add("Clients", clients, "matchclientip")
	r.add("Priority", strconv.Itoa(c.Priority), "priority")
	return r.list
}

// conditions are the names that must be there; values are never shown.
func conditions(list []api.Condition) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = c.Key
		if c.Value != nil {
			parts[i] += " = " + *c.Value
		}
	}
	return strings.Join(parts, ", ")
}

func does(e *route.Entrypoint, c *api.EntrypointConfig, o origins) []optionRow {
	r := rows{origins: o}
	if c.StripPrefix {
		r.add("Strips the path's prefix", "yes", "stripprefix")
	}
	r.add("Adds the prefix", text(c.AddPrefix), "addprefix")
	for _, h := range c.Headers {
		what := h.Value
		if what == "" {
			what = "removed"
		}
		r.add("Header "+h.Name, what+" ("+h.Direction+")", headerKeys(h)...)
	}
	r.add("Load balancer", words(c.LoadBalancer), "loadbalancer")
	timeout := durationText(c.BackendTimeoutMS)
	if c.BackendTimeoutMS == 0 {
		timeout = "none"
	}
	r.add("Waits for an answer", timeout, "backendtimeout")
	retries(&r, c.Retry)
	r.add("When nothing is verified", "panic="+c.Panic, "panic")
	rotates(&r, e)
	r.add("Drains for", durationText(c.DrainTimeoutMS), "drain.timeout")
	r.add("Holds requests for", durationText(c.HoldForMS), "holdfor")
	return r.list
}

func headerKeys(h api.HeaderRule) []string {
	name := strings.ToLower(h.Name)
	if route.HeaderDirection(h.Direction) == route.OnRequest {
		return []string{"headers." + name, "headers.request." + name}
	}
	return []string{"headers." + h.Direction + "." + name}
}

func checks(e *route.Entrypoint, c *api.EntrypointConfig, o origins) []optionRow {
	h := c.HealthCheck
	if h == nil {
		return nil
	}
	r := rows{origins: o}
	check := checkOf(e)
	r.add("Probe", probeName(check.Type), "healthcheck.type", "healthcheck")
	r.add("Path", text(h.Path), "healthcheck.path")
	if check.Type == route.ProbeGRPC {
		r.add("Service", check.GRPCService, "healthcheck.grpcservice")
	}
	if check.Method != http.MethodGet {
		r.add("Method", check.Method, "healthcheck.method")
	}
	switch status := h.Status.(type) {
	case int:
		r.add("Passes on", strconv.Itoa(status), "healthcheck.status")
	case string:
		r.add("Passes on", status, "healthcheck.status")
	}
	if h.Port != nil {
		r.own("Port", strconv.Itoa(int(*h.Port)))
	}
	r.add("Host", text(h.Host), "healthcheck.host")
	r.add("Name on TLS", check.SNI, "healthcheck.sni")
	if check.FollowRedirects {
		r.add("Follows redirects", "within the backend, at most 3", "healthcheck.followredirects")
	}
	r.add("Body holds", shortened(check.BodyContains), "healthcheck.body.contains")
	r.add("Body matches", shortened(check.BodyRegex), "healthcheck.body.regex")
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		r.add("Header "+name, h.Headers[name], "healthcheck.headers."+strings.ToLower(name))
	}
	r.add("Every", durationText(h.IntervalMS), "healthcheck.interval")
	if check.FastInterval > 0 && check.FastInterval != check.Interval {
		r.add("While it changes, every", duration(check.FastInterval), "healthcheck.fastinterval")
	}
	if check.DownInterval != check.Interval {
		r.add("While it is down, every", duration(check.DownInterval), "healthcheck.downinterval")
	}
	r.add("Timeout", durationText(h.TimeoutMS), "healthcheck.timeout")
	r.add("Out after", countOf(h.UnhealthyThreshold, "failure"), "healthcheck.unhealthythreshold")
	r.add("Back after", countOf(h.HealthyThreshold, "success"), "healthcheck.healthythreshold")
	r.add("Before the first verdict", h.Initial, "healthcheck.initial")
	return r.list
}

// origins are the labels that set an entrypoint's options, by their key in lower case.
type origins map[string]string

func originsOf(e *route.Entrypoint) origins {
	o := origins{}
	for _, l := range e.Labels {
		o[l.Key] = l.Label
	}
	return o
}

// of is the label of the first key that is set, "" when none is. A key stands for its
// family too: "matchheaders" for "matchheaders.x-key".
func (o origins) of(keys ...string) string {
	for _, k := range keys {
		if label, ok := o[k]; ok {
			return label
		}
	}
	var found []string
	for _, k := range keys {
		for key, label := range o {
			if strings.HasPrefix(key, k+".") && k != "healthcheck" {
				found = append(found, label)
			}
		}
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}
