package router

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// testRequest is a Request made of plain values.
type testRequest struct {
	method, host, path string
	headers, query     map[string]string
	client             netip.Addr
}

func get(host, path string) *testRequest { return &testRequest{method: "GET", host: host, path: path} }

func (r *testRequest) Method() string         { return r.method }
func (r *testRequest) Host() string           { return r.host }
func (r *testRequest) MatchPath() string      { return r.path }
func (r *testRequest) ClientAddr() netip.Addr { return r.client }

func (r *testRequest) HasHeader(name, value string, bare bool) bool {
	v, ok := r.headers[strings.ToLower(name)]
	return ok && (bare || v == value)
}

func (r *testRequest) HasQuery(name, value string, bare bool) bool {
	v, ok := r.query[name]
	return ok && (bare || v == value)
}

// epoch is the time of the oldest claim in tests.
var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// option changes an entrypoint under construction.
type option func(*route.Entrypoint)

// entrypoint makes one with a present backend, for any path of a host.
func entrypoint(t testing.TB, id, hosts string, options ...option) *route.Entrypoint {
	t.Helper()
	e := &route.Entrypoint{
		ID: id, Name: strings.TrimPrefix(id, "http_"), Protocol: route.HTTP, Source: "docker", Claim: epoch,
		Match:    route.Match{Path: route.PathRule{Kind: route.PathPrefix, Value: "/"}},
		Options:  route.DefaultOptions(),
		Backends: []route.Backend{backend(1)},
	}
	for text := range strings.SplitSeq(hosts, ",") {
		p, err := route.ParseHostPattern(text)
		if err != nil {
			t.Fatalf("host %q: %v", text, err)
		}
		e.Match.Hosts = append(e.Match.Hosts, p)
	}
	for _, o := range options {
		o(e)
	}
	return e
}

func backend(n int) route.Backend {
	check := route.DefaultCheck()
	check.Port = 80
	return route.Backend{
		ID: fmt.Sprintf("b%d", n), Name: fmt.Sprintf("app-%d", n), Incarnation: fmt.Sprintf("docker/c%d/1", n),
		Host: fmt.Sprintf("10.0.0.%d", n), Port: 80, Scheme: route.SchemeHTTP, Weight: route.DefaultWeight,
		DialTimeout: route.DefaultDialTimeout, Provider: route.ProviderPresent, Check: &check,
	}
}

func backends(list ...route.Backend) option {
	return func(e *route.Entrypoint) { e.Backends = list }
}

func prefix(value string) option { return path(route.PathPrefix, value) }
func exact(value string) option  { return path(route.PathExact, value) }
func regex(value string) option  { return path(route.PathRegex, value) }

func path(kind route.PathKind, value string) option {
	return func(e *route.Entrypoint) { e.Match.Path = route.PathRule{Kind: kind, Value: value} }
}

func priority(n int) option { return func(e *route.Entrypoint) { e.Match.Priority = n } }

func claimed(hours int) option {
	return func(e *route.Entrypoint) { e.Claim = epoch.Add(time.Duration(hours) * time.Hour) }
}

func methods(list ...string) option { return func(e *route.Entrypoint) { e.Match.Methods = list } }

func header(key, value string) option {
	return func(e *route.Entrypoint) {
		e.Match.Headers = append(e.Match.Headers, route.KeyValue{Key: key, Value: value, Bare: value == ""})
	}
}

func query(key, value string) option {
	return func(e *route.Entrypoint) {
		e.Match.Query = append(e.Match.Query, route.KeyValue{Key: key, Value: value, Bare: value == ""})
	}
}

func clients(list ...string) option {
	return func(e *route.Entrypoint) {
		for _, text := range list {
			e.Match.ClientIPs = append(e.Match.ClientIPs, netip.MustParsePrefix(text))
		}
	}
}

// retained takes the backends away, as when all containers stopped.
func retained() option {
	return func(e *route.Entrypoint) {
		e.Backends = nil
		e.RetainedUntil = epoch.Add(time.Minute)
		e.Absent = []route.Absence{{CandidateID: "c1", Name: "app-1", Why: route.AbsentRetained}}
	}
}

func failClosed() option {
	return func(e *route.Entrypoint) {
		e.FailClosed = &route.FailClosed{Code: "E104", Label: "sozune.http.x.auth.basci"}
	}
}

func entries(list ...*route.Entrypoint) []Entry {
	out := make([]Entry, len(list))
	for i, e := range list {
		out[i] = Entry{Entrypoint: e, Cell: &route.RotationCell{}}
	}
	return out
}

func build(list ...*route.Entrypoint) *Table { return Build(1, entries(list...)) }

func idOf(r *Route) string {
	if r == nil {
		return ""
	}
	return r.Entrypoint.ID
}
