package router

import (
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// The oracle decides by a linear scan with the order written as it is documented,
// sharing no code with the table.

type oracleRule struct {
	e        *route.Entrypoint
	host     route.HostPattern
	priority int
}

// oraclePriority is what a priority counts for.
func oraclePriority(list []*route.Entrypoint, e *route.Entrypoint, host route.HostPattern) int {
	p := e.Match.Priority
	if e.CanServe() {
		return p
	}
	p = min(p, 0)
	for _, other := range list {
		if other.Protocol == route.HTTP && other.CanServe() && other.Match.Path == e.Match.Path && slices.Contains(other.Match.Hosts, host) {
			p = min(p, other.Match.Priority)
		}
	}
	return p
}

func oracle(list []*route.Entrypoint, r *testRequest) string {
	var best *oracleRule
	for _, e := range list {
		for _, h := range e.Match.Hosts {
			rule := &oracleRule{e, h, oraclePriority(list, e, h)}
			if rule.applies(r) && (best == nil || rule.first(best)) {
				best = rule
			}
		}
	}
	if best == nil {
		return ""
	}
	return best.e.ID
}

func (o *oracleRule) applies(r *testRequest) bool {
	m := o.e.Match
	if o.e.Protocol != route.HTTP || !oracleHost(o.host.Text, r.host) || !oraclePath(m.Path, r.path) {
		return false
	}
	if len(m.Methods) > 0 && !slices.Contains(m.Methods, r.method) {
		return false
	}
	for _, kv := range m.Headers {
		if v, ok := r.headers[kv.Key]; !ok || !kv.Bare && v != kv.Value {
			return false
		}
	}
	for _, kv := range m.Query {
		if v, ok := r.query[kv.Key]; !ok || !kv.Bare && v != kv.Value {
			return false
		}
	}
	in := len(m.ClientIPs) == 0
	for _, p := range m.ClientIPs {
		in = in || p.Contains(r.client)
	}
	return in && !m.ClientNobody
}

func oracleHost(pattern, host string) bool {
	var re strings.Builder
	for i, label := range strings.Split(pattern, ".") {
		if i > 0 {
			re.WriteString(`\.`)
		}
		switch {
		case pattern == "*":
			return true
		case label == "*":
			re.WriteString(`[^.]+`)
		case label == "**":
			re.WriteString(`.+`)
		case strings.HasPrefix(label, "/"):
			re.WriteString(`(?:` + strings.Trim(label, "/") + `)`)
		default:
			re.WriteString(regexp.QuoteMeta(label))
		}
	}
	return regexp.MustCompile(`^` + re.String() + `$`).MatchString(host)
}

func oraclePath(rule route.PathRule, path string) bool {
	switch rule.Kind {
	case route.PathExact:
		return path == rule.Value
	case route.PathRegex:
		return regexp.MustCompile(`^(` + rule.Value + `)$`).MatchString(path)
	case route.PathPrefix:
	}
	return path == rule.Value || strings.HasPrefix(path, strings.TrimSuffix(rule.Value, "/")+"/")
}

// first reports whether o comes before p.
func (o *oracleRule) first(p *oracleRule) bool {
	a, b := o.e.Match, p.e.Match
	if o.priority != p.priority {
		return o.priority > p.priority
	}
	if o.host.Kind != p.host.Kind {
		return o.host.Kind < p.host.Kind
	}
	if o.host.Kind == route.HostWildcard && o.host != p.host {
		x, y := strings.TrimLeft(o.host.Text, "*"), strings.TrimLeft(p.host.Text, "*")
		if len(x) != len(y) {
			return len(x) > len(y)
		}
		return strings.HasPrefix(p.host.Text, "**")
	}
	if a.Path.Kind != b.Path.Kind {
		return a.Path.Kind < b.Path.Kind
	}
	if a.Path.Kind != route.PathExact && len(a.Path.Value) != len(b.Path.Value) {
		return len(a.Path.Value) > len(b.Path.Value)
	}
	if o.e.CanServe() != p.e.CanServe() {
		return o.e.CanServe()
	}
	if a.Conditions() != b.Conditions() {
		return a.Conditions() > b.Conditions()
	}
	if !o.e.Claim.Equal(p.e.Claim) {
		return o.e.Claim.Before(p.e.Claim)
	}
	return o.e.ID < p.e.ID
}

// source turns fuzz input into choices.
type source struct{ data []byte }

func (s *source) below(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	v := int(s.data[0]) % n
	s.data = s.data[1:]
	return v
}

var (
	universeHosts = []string{
		"x", "a.x", "b.x", "a.b.x", "c.b.x", "*.x", "**.x", "*.b.x", "**.b.x", "*", "/[ab]/.x", "/a|c/.b.x", "/[a-z]+/./b|x/", "/a/",
	}
	universePaths = []route.PathRule{
		{Kind: route.PathPrefix, Value: "/"}, {Kind: route.PathPrefix, Value: "/"}, {Kind: route.PathPrefix, Value: "/a"},
		{Kind: route.PathPrefix, Value: "/b"}, {Kind: route.PathPrefix, Value: "/a/b"}, {Kind: route.PathPrefix, Value: "/a/b/c"},
		{Kind: route.PathExact, Value: "/a"}, {Kind: route.PathExact, Value: "/a/"}, {Kind: route.PathExact, Value: "/a/b/c"},
		{Kind: route.PathRegex, Value: "/a.*"}, {Kind: route.PathRegex, Value: "/[ab]/?"}, {Kind: route.PathRegex, Value: "/.*/c"},
	}
	requestHosts = []string{"x", "a.x", "b.x", "a.b.x", "c.b.x", "d.c.b.x", "q.x", "a", "other", "y.z"}
	requestPaths = []string{"/", "/a", "/a/", "/ab", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/", "/b", "/b/c", "/z"}
)

func (s *source) entrypoint(t testing.TB, n int) *route.Entrypoint {
	hosts := map[string]bool{}
	for range 1 + s.below(2) {
		hosts[universeHosts[s.below(len(universeHosts))]] = true
	}
	list := make([]string, 0, len(hosts))
	for h := range hosts {
		list = append(list, h)
	}
	slices.Sort(list)
	e := entrypoint(t, "http_"+string(rune('a'+n)), strings.Join(list, ","))
	e.Match.Path = universePaths[s.below(len(universePaths))]
	e.Match.Priority = []int{0, 0, 0, 0, 1, -1, 100}[s.below(7)]
	e.Claim = epoch.Add(time.Duration(s.below(3)) * time.Hour)
	bits := s.below(256)
	if bits&3 == 3 {
		e.Match.Methods = []string{"POST"}
	}
	if bits&12 == 12 {
		header("h", []string{"", "1"}[s.below(2)])(e)
	}
	if bits&48 == 48 {
		query("q", []string{"", "1"}[s.below(2)])(e)
	}
	switch s.below(16) {
	case 0:
		clients("10.0.0.0/8")(e)
	case 1:
		e.Match.ClientNobody = true
	case 2, 3, 4:
		retained()(e)
	case 5:
		e.Protocol = route.TCP
	}
	return e
}

func (s *source) request() *testRequest {
	r := &testRequest{
		method: []string{"GET", "POST"}[s.below(2)],
		host:   requestHosts[s.below(len(requestHosts))],
		path:   requestPaths[s.below(len(requestPaths))],
		client: netip.MustParseAddr([]string{"10.1.2.3", "192.0.2.1"}[s.below(2)]),
	}
	r.headers, r.query = map[string]string{}, map[string]string{}
	if v := s.below(3); v > 0 {
		r.headers["h"] = []string{"", "1", "2"}[v]
	}
	if v := s.below(3); v > 0 {
		r.query["q"] = []string{"", "1", "2"}[v]
	}
	return r
}

func checkAgainstOracle(t *testing.T, data []byte) {
	t.Helper()
	s := &source{data: data}
	var list []*route.Entrypoint
	for n := range 1 + s.below(14) {
		list = append(list, s.entrypoint(t, n))
	}
	table := build(list...)
	shuffled := slices.Clone(list)
	rand.New(rand.NewPCG(1, uint64(len(data)))).Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	again := build(shuffled...)
	for range 12 {
		r := s.request()
		want := oracle(list, r)
		if got := idOf(table.Match(r)); got != want {
			t.Errorf("%+v: %q, want %q among %s", *r, got, want, describeAll(list))
		}
		if got := idOf(again.Match(r)); got != want {
			t.Errorf("%+v: %q in another order, want %q", *r, got, want)
		}
		if by := table.ShadowedBy(want); by != "" {
			t.Errorf("%+v: %s wins though it is shadowed by %s", *r, want, by)
		}
	}
	for _, e := range list {
		if table.ShadowedBy(e.ID) != again.ShadowedBy(e.ID) || !slices.Equal(table.Diagnostics(e.ID), again.Diagnostics(e.ID)) {
			t.Errorf("%s: diagnostics depend on the order: %v, %v", e.ID, table.Diagnostics(e.ID), again.Diagnostics(e.ID))
		}
	}
}

func describeAll(list []*route.Entrypoint) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString("\n  " + e.ID)
		for _, h := range e.Match.Hosts {
			b.WriteString(" " + h.Text)
		}
		b.WriteString(" " + e.Match.Path.Kind.String() + " " + e.Match.Path.Value)
	}
	return b.String()
}

func FuzzBuildMatch(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("one entrypoint or two, and a handful of requests"))
	rng := rand.New(rand.NewPCG(7, 7))
	for range 8 {
		seed := make([]byte, 300)
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(checkAgainstOracle)
}

func TestMatchAgreesWithTheOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	data := make([]byte, 400)
	for range 3000 {
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		checkAgainstOracle(t, data)
		if t.Failed() {
			return
		}
	}
}
