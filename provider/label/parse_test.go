package label

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead/router/route"
)

// plain compares our opaque values with ==.
var plain = cmpopts.EquateComparable(route.StatusSet{}, netip.Prefix{})

// web parses one http service; keys are relative to it.
func web(t testing.TB, keys map[string]string) (Declaration, []route.Diagnostic) {
	t.Helper()
	labels := map[string]string{"sozune.enable": "true", "sozune.http.web.host": "app.example.com", "sozune.http.web.path": "/"}
	for k, v := range keys {
		labels["sozune.http.web."+k] = v
		if strings.HasPrefix(k, "backendTLS.") && keys["scheme"] == "" {
			labels["sozune.http.web.scheme"] = "https"
		}
	}
	p := parseLabels(t, labels)
	if len(p.Declarations) != 1 {
		t.Fatalf("%v: %d declarations", keys, len(p.Declarations))
	}
	return p.Declarations[0], p.Diagnostics
}

func codesOf(list []route.Diagnostic) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.Code)
	}
	return out
}

const bcrypt = "alice:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"

// samples are values of every http key that are right and wrong. A test fails when
// the catalog has a key that is not here.
var samples = map[string]struct{ good, bad []string }{
	"host":                           {[]string{"a.b", "*", "*.a.b", "**.a.b", "/x[0-9]{1,2}/.a.b", "Ä.example", "a.b.", "my_app.local"}, []string{"a..b", "a b", "https://a.b", "a.b:80", strings.Repeat("a", 600)}},
	"path":                           {[]string{"/a", "a", "/a b", "/ä"}, []string{"/a\x01", "/" + strings.Repeat("a", 3000)}},
	"prefix":                         {[]string{"/a"}, nil},
	"pathExact":                      {[]string{"/a"}, nil},
	"pathRegex":                      {[]string{`/v[0-9]+`, `/a|/b`}, nil},
	"methods":                        {[]string{"GET", "get,post", "PROPFIND"}, []string{"GTE", "CONNECT", "G ET", strings.Repeat("GET,", 40)}},
	"matchHeaders":                   {[]string{"X-A:1", "X-A", "a:b:c"}, []string{"", ":secret", "X-A:1,:x"}},
	"matchQuery":                     {[]string{"a:1,b"}, []string{"", ",", ":x"}},
	"matchClientIP":                  {[]string{"10.0.0.1", "10.0.0.0/8, fd00::/8", "::ffff:10.0.0.1", "::ffff:10.0.0.0/104"}, []string{"", "10.0.0", "fe80::1%eth0", "::ffff:0.0.0.0/50"}},
	"priority":                       {[]string{"0", "-5", "+7", "2147483647"}, []string{"", "x", "1.5", "2147483648", "0x10"}},
	"stripPrefix":                    {[]string{"true", "OFF", "1", "no"}, []string{"", "maybe"}},
	"addPrefix":                      {[]string{"/a", "a", "/", "", "/ä/%20"}, []string{"/a/../b", "/a?x", "/a\x00", "/%2E%2e", "/a/..;x", "/a/.%2fb", `/a\b`, "//h/", "/%zz"}},
	"headers.<Name>":                 {[]string{"v", ""}, []string{"a\r\nb", "a\x00"}},
	"headers.response.<Name>":        {[]string{"v", ""}, []string{"a\nb"}},
	"headers.both.<Name>":            {[]string{"v", ""}, []string{strings.Repeat("x", 9000)}},
	"tls":                            {[]string{"true"}, []string{"x"}},
	"httpsRedirect":                  {[]string{"false"}, []string{"x"}},
	"httpsRedirectPort":              {[]string{"8443"}, []string{"0"}},
	"redirect":                       {[]string{"permanent", "forward", "unauthorized"}, []string{"301"}},
	"redirectScheme":                 {[]string{"use_https", "use-https"}, []string{"https"}},
	"redirectTemplate":               {[]string{"%REDIRECT_LOCATION"}, []string{"a\nb"}},
	"compress":                       {[]string{"true"}, []string{"x"}},
	"errorPages.<code>":              {[]string{"sorry"}, []string{strings.Repeat("x", maxPage+1)}},
	"maxBodyBytes":                   {[]string{"1"}, []string{"0", "-1", "1k"}},
	"plugins":                        {[]string{"a"}, []string{"", ","}},
	"plugins.<name>.<key>":           {[]string{"x"}, []string{"a\x00"}},
	"port":                           {[]string{"1", "65535"}, []string{"", "0", "65536", "http", "-1", "+80", "80/tcp"}},
	"scheme":                         {[]string{"http", "HTTPS", "h2c"}, []string{"", "ftp"}},
	"backendTLS.serverName":          {[]string{"a.b", ""}, []string{"*.a.b", "a b"}},
	"backendTLS.insecureSkipVerify":  {[]string{"true"}, []string{"x"}},
	"backendTLS.ca":                  {[]string{"internal", ""}, []string{"other"}},
	"backendTLS.clientCert":          {[]string{"edge", ""}, []string{"other"}},
	"dialTimeout":                    {[]string{"1ms", "2s", "1m30s"}, []string{"0", "-1", "10m", "x"}},
	"weight":                         {[]string{"0", "65535"}, []string{"65536", "-1", "50%"}},
	"backup":                         {[]string{"true"}, []string{"x"}},
	"dockerHealth":                   {[]string{"prefer", "require", "report", "ignore"}, []string{"x"}},
	"maxConnections":                 {[]string{"5", "1048576"}, []string{"0", "-1", "1e3", "1048577"}},
	"maxConnections.queue":           {[]string{"0", "1048576"}, []string{"-1", "", "many"}},
	"maxConnections.queueTimeout":    {[]string{"1s", "0", "500"}, []string{"x", "2h", "-1"}},
	"slowStart":                      {[]string{"30s", "0", "1h"}, []string{"2h", "x", "-1"}},
	"slowStart.min":                  {[]string{"1", "100"}, []string{"0", "101", "10%"}},
	"loadBalancer":                   {[]string{"rr", "leastconn", "least-connections", "p2c", "power_of_two", "RANDOM", "round-robin", "hrw"}, []string{"", "fastest", "maglev"}},
	"loadBalancer.hashOn":            {[]string{"header:X-A"}, []string{"a\x00"}},
	"backendTimeout":                 {[]string{"0", "60", "1m30s"}, []string{"", "soon", "-1", "-5s", "+5s", "25h", "99999999999999999999"}},
	"stickySession":                  {[]string{"true", "off"}, []string{"x", ""}},
	"stickySession.cookie":           {[]string{"sid", "__Host-x"}, []string{"a\x00", "", "a b", "a=b", "a;b", strings.Repeat("x", 65)}},
	"stickySession.secure":           {[]string{"true"}, []string{"x"}},
	"stickySession.sameSite":         {[]string{"Lax", "strict"}, []string{"x", ""}},
	"stickySession.maxAge":           {[]string{"60", "0", "24h"}, []string{"x", "-1"}},
	"auth.basic":                     {[]string{bcrypt, bcrypt + ",bob:" + strings.Repeat("0", 64)}, []string{"alice", ":x", "alice:short"}},
	"auth.basicFile":                 {[]string{"users"}, []string{"", "a\x00"}},
	"wwwAuthenticate":                {[]string{"realm", ""}, []string{"a\nb"}},
	"forwardAuth.address":            {[]string{"http://auth:9000/verify", "https://auth/"}, []string{"", "auth", "ftp://auth/", "http://", "http://[::1"}},
	"forwardAuth.responseHeaders":    {[]string{"X-User"}, nil},
	"forwardAuth.trustForwardHeader": {[]string{"true"}, []string{"x"}},
	"ratelimit.average":              {[]string{"10"}, []string{"0", "x"}},
	"ratelimit.burst":                {nil, []string{"0", "x", "5"}},
	"inFlightReq":                    {[]string{"10"}, []string{"0", "x"}},
	"ipAllowList":                    {[]string{"10.0.0.0/8"}, []string{"", "x"}},
	"healthCheck":                    {[]string{"true", "off"}, []string{"x"}},
	"healthCheck.path":               {[]string{"/health", "health", "/?a=b", "/ä", "/%41"}, []string{"", "/a b", "/a#b", "/a%0d", "/a%0Ab", "/%00", "//host/", "http://h/", "/a\r\nX: y", "/%", "/%zz", "/" + strings.Repeat("a", 2048)}},
	"healthCheck.port":               {[]string{"8081"}, []string{"0", "x"}},
	"healthCheck.host":               {[]string{"a.b", "a.b:80", "10.0.0.1", "::1", "[::1]", "[::1]:80", "10.0.0.1:80"}, []string{"", "a b", "*.a", "a.b:0", "a/b", "x@y", "fe80::1%eth0"}},
	"healthCheck.headers.<Name>":     {[]string{"v", ""}, []string{"a\r\nb", "a\x00"}},
	"healthCheck.status":             {[]string{"200", "2xx", "200-299,401,!204", "!5xx"}, []string{"", "2000", "20x", "300-200", "200,", "!100-599", "none"}},
	"healthCheck.interval":           {[]string{"100ms", "1s", "1h"}, []string{"99", "0", "2h", "x"}},
	"healthCheck.timeout":            {[]string{"10ms", "5m"}, []string{"9", "6m", "x"}},
	"healthCheck.unhealthyThreshold": {[]string{"1", "100"}, []string{"0", "101", "x"}},
	"healthCheck.healthyThreshold":   {[]string{"1", "100"}, []string{"0", "101", "x"}},
	"healthCheck.initial":            {[]string{"auto", "Up", "down"}, []string{"x"}},
	"healthCheck.initialDelay":       {[]string{"0", "10m"}, []string{"11m", "x"}},
	"healthCheck.type":               {[]string{"tcp", "HTTP", "tls", "grpc", "websocket", "web-socket"}, []string{"udp", "", "https"}},
	"healthCheck.scheme":             {[]string{"https", "HTTP"}, []string{"h2c", ""}},
	"healthCheck.sni":                {[]string{"a.b", "10.0.0.1", "::1", "[::1]", "Bücher.example"}, []string{"a\x00", "", "*.a.b", "a b", "a.b:443", "fe80::1%eth0"}},
	"healthCheck.method":             {[]string{"HEAD", "get", "OPTIONS"}, []string{"POST", "", "CONNECT"}},
	"healthCheck.followRedirects":    {[]string{"true"}, []string{"x"}},
	"healthCheck.body.contains":      {[]string{"ok"}, []string{"a\x00", "", strings.Repeat("a", maxText+1)}},
	"healthCheck.body.regex":         {[]string{"ok+"}, []string{"[", "", "a(?=b)", strings.Repeat("a", 2000)}},
	"healthCheck.grpcService":        {[]string{"a.B", ""}, []string{"a\x00", "a b", "ä", strings.Repeat("a", 256)}},
	"healthCheck.fastInterval":       {[]string{"1s", "0", "10s"}, []string{"x", "11s", "2h", "-1"}},
	"healthCheck.downInterval":       {[]string{"1s", "1h", "100ms"}, []string{"x", "99", "2h", "0"}},
	"healthCheck.jitter":             {[]string{"0", "50"}, []string{"51", "-1", "10%"}},
	"healthCheck.insecureSkipVerify": {[]string{"true", "false"}, []string{"x"}},
	"panic":                          {[]string{"all", "last", "off"}, []string{"x", ""}},
	"panicThreshold":                 {[]string{"0", "50", "100"}, []string{"101", "-1", "50%"}},
	"noBackendStatus":                {[]string{"400", "502", "599"}, []string{"200", "399", "600", "x"}},
	"drain.timeout":                  {[]string{"0", "30s"}, []string{"x"}},
	"onDown":                         {[]string{"idle", "close", "keep"}, []string{"x", ""}},
	"holdFor":                        {[]string{"0"}, []string{"x"}},
	"retry.attempts":                 {[]string{"1", "20"}, []string{"0", "21", "x"}},
	"retry.on":                       {[]string{"connect,timeout", "502, 503,504"}, []string{"404", "", ",", "connect,never"}},
	"retry.methods":                  {[]string{"GET", "get,Put", "idempotent"}, []string{"", "GTE", "GET,CONNECT", "idempotent,GET"}},
	"retry.tryDuration":              {[]string{"5s", "0", "1h"}, []string{"x", "2h", "-1"}},
	"retry.tryInterval":              {[]string{"100", "0", "1m"}, []string{"x", "2m"}},
	"circuitBreaker.threshold":       {[]string{"0.5", "1", "1e-3"}, []string{"0", "1.1", "NaN", "x", "-0.5", "50%", "Inf"}},
	"circuitBreaker.minRequests":     {[]string{"1", "1048576"}, []string{"0", "-1", "1048577"}},
	"circuitBreaker.cooldown":        {[]string{"10", "1m", "1h"}, []string{"0", "2h", "500ms"}},
	"passive.failures":               {[]string{"1", "5", "1000"}, []string{"0", "1001", "-1"}},
	"passive.window":                 {[]string{"10s", "1ms"}, []string{"0", "2h"}},
	"passive.panic":                  {[]string{"false"}, []string{"x"}},
	"passive.status":                 {[]string{"503", "none", "NONE", "5xx,!501"}, []string{"x", "", "503,none", "99"}},
	"passive.latency":                {[]string{"1s", "1h"}, []string{"0", "2h", "slow"}},
	"passive.ejectionTime":           {[]string{"30s", "1s", "1h"}, []string{"1", "2h"}},
	"passive.maxEjectionTime":        {[]string{"300s", "30s", "1h"}, []string{"2h", "1", "x"}},
	"passive.maxEjectionPercent":     {[]string{"1", "100"}, []string{"0", "101", "50%"}},
	"passive.recovery":               {[]string{"auto", "time", "Trial", "probe"}, []string{"x", ""}},
	"passive.trials":                 {[]string{"1", "10"}, []string{"11", "0"}},
	"passive.feedsActive":            {[]string{"true"}, []string{"x"}},
}

// companions are labels without which a key has no effect, by how its name begins.
var companions = map[string]map[string]string{
	"passive.":                       {"passive.failures": "5", "healthCheck.path": "/"},
	"circuitBreaker.":                {"circuitBreaker.threshold": "0.5"},
	"stickySession.":                 {"stickySession": "true"},
	"maxConnections.":                {"maxConnections": "10"},
	"slowStart.":                     {"slowStart": "30s"},
	"healthCheck.sni":                {"healthCheck.type": "tls", "scheme": "https"},
	"healthCheck.insecureSkipVerify": {"healthCheck.type": "tls", "scheme": "https"},
	"healthCheck.scheme":             {"healthCheck.path": "/"},
	"healthCheck.host":               {"healthCheck.path": "/"},
	"healthCheck.method":             {"healthCheck.path": "/"},
	"healthCheck.headers.":           {"healthCheck.path": "/"},
	"healthCheck.status":             {"healthCheck.path": "/"},
	"healthCheck.followRedirects":    {"healthCheck.path": "/"},
	"healthCheck.body.":              {"healthCheck.path": "/"},
	"healthCheck.grpcService":        {"healthCheck.type": "grpc"},
}

// alongside returns the companions of a key without the key itself.
func alongside(name string) map[string]string {
	out := map[string]string{}
	for prefix, keys := range companions {
		if strings.HasPrefix(name, prefix) {
			maps.Copy(out, keys)
		}
	}
	delete(out, name)
	return out
}

// withCompanions is a key with its companions.
func withCompanions(name, value string) map[string]string {
	out := alongside(name)
	out[name] = value
	return out
}

// writing turns a key's name into one that a label can have.
var writing = strings.NewReplacer("<Name>", "X-Sample", "<code>", "503", "<name>", "p", "<key>", "k")

// TestEveryKey holds for each key that right values pass and wrong ones give its code.
func TestEveryKey(t *testing.T) {
	for _, k := range Keys() {
		if !slices.Contains(k.Protocols, route.HTTP) {
			continue
		}
		sample, ok := samples[k.Name]
		if !ok {
			t.Errorf("no samples for %s", k.Name)
			continue
		}
		for _, v := range sample.good {
			checkGood(t, k, writing.Replace(k.Name), v)
		}
		for _, v := range sample.bad {
			checkBad(t, k, writing.Replace(k.Name), v)
		}
	}
}

func checkGood(t *testing.T, k Key, name, value string) {
	t.Helper()
	d, list := web(t, withCompanions(name, value))
	closed := d.FailClosed != nil && d.FailClosed.Code == "E113"
	for _, g := range list {
		ours := strings.EqualFold(g.Label, "sozune.http.web."+name)
		if ours && g.Code == k.BadValue && k.BadValue != "E112" {
			t.Errorf("%s=%q is refused: %+v", name, value, g)
		}
	}
	protecting := k.Available == Protecting && k.Name != "ratelimit.burst" && !strings.HasPrefix(k.Name, "forwardAuth.r") && !strings.HasPrefix(k.Name, "forwardAuth.t")
	if protecting && !closed {
		t.Errorf("%s=%q leaves the route open", name, value)
	}
	if k.Available == Later && !slices.Contains(codesOf(list), "I104") && value != "unauthorized" {
		t.Errorf("%s=%q: no I104 among %v", name, value, codesOf(list))
	}
	if k.Available == Working && d.Refused != "" {
		t.Errorf("%s=%q refuses the route: %s", name, value, d.Refused)
	}
}

func checkBad(t *testing.T, k Key, name, value string) {
	t.Helper()
	d, list := web(t, withCompanions(name, value))
	hit := slices.IndexFunc(list, func(g route.Diagnostic) bool { return g.Code == k.BadValue })
	if hit < 0 {
		t.Errorf("%s=%q: no %s among %v", name, value, k.BadValue, codesOf(list))
		return
	}
	if g := list[hit]; g.Label != "sozune.http.web."+name || value != "" && g.Value == "" && len(splitList(value)) > 0 && !strings.HasPrefix(g.Message, "more than") {
		t.Errorf("%s=%q: diagnostic %+v names another label or no value", name, value, g)
	}
	if k.Available == Working && k.Level != LevelMatcher && (d.Refused != "" || d.FailClosed != nil) {
		t.Errorf("%s=%q takes the route away: %s %v", name, value, d.Refused, d.FailClosed)
	}
	without := alongside(name)
	without["scheme"] = string(d.Backend.Scheme)
	if base, _ := web(t, without); k.Available == Working && k.Level != LevelMatcher {
		d.Set, d.Diagnostics, base.Set, base.Diagnostics = nil, nil, nil, nil
		if diff := cmp.Diff(base, d, plain); diff != "" {
			t.Errorf("%s=%q is not the same as no label: %s", name, value, diff)
		}
	}
}

// TestWorkingKeys shows what each label does.
func TestWorkingKeys(t *testing.T) {
	prefixes := func(texts ...string) (out []netip.Prefix) {
		for _, s := range texts {
			out = append(out, netip.MustParsePrefix(s))
		}
		return out
	}
	tests := []struct {
		keys string // "k=v" separated by spaces
		get  func(Declaration) any
		want any
	}{
		{"host=B.example.com.,a.example.com,a.example.com", func(d Declaration) any { return fmt.Sprint(d.Match.Hosts) }, "[a.example.com b.example.com]"},
		{"host=Bücher.example,*.Straße.de", func(d Declaration) any { return fmt.Sprint(d.Match.Hosts) }, "[*.xn--strae-oqa.de xn--bcher-kva.example]"},
		{"host=/x?@/.b", func(d Declaration) any { return fmt.Sprint(d.Match.Hosts) }, "[/x?@/.b]"},
		{"host=/CDN[0-9]{1,2}/.example.com,/a,b/.x", func(d Declaration) any { return fmt.Sprint(d.Match.Hosts) }, "[/(?i:CDN[0-9]{1,2})/.example.com /a,b/.x]"},
		{"host=bücher。example", func(d Declaration) any { return fmt.Sprint(d.Match.Hosts) }, "[xn--bcher-kva.example]"},
		{"path=/api", func(d Declaration) any { return d.Match.Path }, route.PathRule{Kind: route.PathPrefix, Value: "/api"}},
		{"pathExact=/api", func(d Declaration) any { return d.Match.Path.Value }, "/"},
		{"methods=post,GET,get", func(d Declaration) any { return d.Match.Methods }, []string{"GET", "POST"}},
		{"matchHeaders=x-b,X-A:1,x-a:1", func(d Declaration) any { return d.Match.Headers }, []route.KeyValue{{Key: "X-A", Value: "1"}, {Key: "X-B", Bare: true}}},
		{"matchQuery=b,a:,A:x:y", func(d Declaration) any { return d.Match.Query }, []route.KeyValue{{Key: "A", Value: "x:y"}, {Key: "a"}, {Key: "b", Bare: true}}},
		{"matchClientIP=10.1.2.3/8,::ffff:1.2.3.4,bad", func(d Declaration) any { return d.Match.ClientIPs }, prefixes("1.2.3.4/32", "10.0.0.0/8")},
		{"matchClientIP=bad", func(d Declaration) any { return d.Match.ClientNobody }, true},
		{"matchHeaders=", func(d Declaration) any { return d.Refused }, "E109"}, // an unset variable opens no route
		{"matchQuery=token,:x", func(d Declaration) any { return d.Refused }, "E109"},
		{"path=", func(d Declaration) any { return d.Match.Path.Value + codesOf(d.Diagnostics)[0] }, "/I001"},
		{"priority=-3", func(d Declaration) any { return d.Match.Priority }, -3},
		{"stripPrefix=yes", func(d Declaration) any { return d.Options.StripPrefix }, true},
		{"addPrefix=v1", func(d Declaration) any { return d.Options.AddPrefix }, "/v1"},
		{"addPrefix=/v1 stripPrefix=true", func(d Declaration) any { return fmt.Sprint(d.Options.StripPrefix, d.Options.AddPrefix) }, "false/v1"},
		{"headers.x-a=1 headers.response.x-a= headers.both.server=z", func(d Declaration) any { return d.Options.Headers }, []route.HeaderRule{
			{Name: "Server", Value: "z", Direction: route.OnBoth}, {Name: "X-A", Value: "1", Direction: route.OnRequest}, {Name: "X-A", Direction: route.OnResponse},
		}},
		{"loadBalancer=least-conn", func(d Declaration) any { return d.Options.LoadBalancer }, route.LeastConnections},
		{"loadBalancer=P2C", func(d Declaration) any { return d.Options.LoadBalancer }, route.PowerOfTwo},
		{"loadBalancer=hrw", func(d Declaration) any { return d.Options.LoadBalancer }, route.RoundRobin},
		{"backendTimeout=0", func(d Declaration) any { return d.Options.BackendTimeout }, time.Duration(0)},
		{"backendTimeout=90", func(d Declaration) any { return d.Options.BackendTimeout }, 90 * time.Second},
		{"retry.attempts=5", func(d Declaration) any { return d.Options.RetryAttempts }, 5},
		{"panic=last", func(d Declaration) any { return d.Options.Panic }, route.PanicLast},
		{"port=8080", func(d Declaration) any { return d.Backend.Port }, uint16(8080)},
		{"dialTimeout=500", func(d Declaration) any { return d.Backend.DialTimeout }, 500 * time.Millisecond},
		{"weight=7", func(d Declaration) any { return d.Backend.Weight }, 7},
		{"backup=true", func(d Declaration) any { return d.Backend.Weight }, 0},
		{"dockerHealth=require", func(d Declaration) any { return d.Backend.Docker }, route.DockerHealthRequire},
		{"scheme=https backendTLS.serverName=In.Example backendTLS.ca=internal", func(d Declaration) any { return d.Backend.TLS }, route.BackendTLS{ServerName: "in.example", CA: "internal"}},
		{"scheme=http backendTLS.ca=internal", func(d Declaration) any { return d.Backend.TLS }, route.BackendTLS{}},
		{"healthCheck=false", func(d Declaration) any { return d.Check == nil }, true},
		{"healthCheck.port=9", func(d Declaration) any { return fmt.Sprint(d.Check.Port, d.Check.Type, d.Backend.CheckPort) }, "9tcp9"},
		{"healthCheck.path=health?k=v", func(d Declaration) any { return fmt.Sprint(d.Check.Path, " ", d.Check.Type) }, "/health?k=v http"},
		{"healthCheck.path=/ü", func(d Declaration) any { return d.Check.Path }, "/%C3%BC"},
		{"healthCheck.path=/ healthCheck.status=200,!204", func(d Declaration) any { return d.Check.Status.String() }, "200,!204"},
		{"healthCheck.path=/ healthCheck.headers.b=2 healthCheck.headers.authorization=x", func(d Declaration) any { return d.Check.Headers }, []route.CheckHeader{{Name: "Authorization", Value: "x"}, {Name: "B", Value: "2"}}},
		{"healthCheck.path=/ healthCheck.headers.Host=a.b", func(d Declaration) any { return d.Check.Host }, "a.b"},
		{"healthCheck.path=/ healthCheck.headers.Host=a.b healthCheck.host=[::1]:80", func(d Declaration) any { return d.Check.Host }, "[::1]:80"},
		{"healthCheck.path=/ healthCheck.host=Bücher.example:8080", func(d Declaration) any { return d.Check.Host }, "xn--bcher-kva.example:8080"},
		{"healthCheck.interval=2s", func(d Declaration) any { return fmt.Sprint(d.Check.Interval, d.Check.DownInterval, d.Check.Timeout) }, "2s 2s 2s"},
		{"healthCheck.interval=2s healthCheck.timeout=7s", func(d Declaration) any { return d.Check.Timeout }, 7 * time.Second},
		{"healthCheck.timeout=x healthCheck.interval=1s", func(d Declaration) any { return d.Check.Timeout }, time.Second},
		{"healthCheck.unhealthyThreshold=3 healthCheck.healthyThreshold=2", func(d Declaration) any { return fmt.Sprint(d.Check.UnhealthyThreshold, d.Check.HealthyThreshold) }, "3 2"},
		{"healthCheck.initial=down healthCheck.initialDelay=0", func(d Declaration) any { return fmt.Sprint(d.Check.Initial, d.Check.InitialDelay) }, "down0s"},
	}
	for _, tt := range tests {
		keys := map[string]string{}
		for kv := range strings.FieldsSeq(tt.keys) {
			k, v, _ := strings.Cut(kv, "=")
			keys[k] = v
		}
		d, _ := web(t, keys)
		if diff := cmp.Diff(tt.want, tt.get(d), plain); diff != "" {
			t.Errorf("%s: %s", tt.keys, diff)
		}
	}
}

func TestDefaults(t *testing.T) {
	p := parseLabels(t, map[string]string{"sozune.enable": "true", "sozune.http.web.host": "a.b"})
	check := route.DefaultCheck()
	want := Declaration{
		Protocol: route.HTTP, Service: "web",
		Match:   route.Match{Hosts: []route.HostPattern{{Text: "a.b"}}, Path: route.PathRule{Kind: route.PathPrefix, Value: "/"}},
		Options: route.DefaultOptions(),
		Backend: BackendOptions{
			Scheme: route.SchemeHTTP, DialTimeout: route.DefaultDialTimeout, Weight: route.DefaultWeight, Docker: route.DockerHealthPrefer,
			SlowStartMin: route.DefaultSlowStartMin,
		},
		Check: &check, Labels: []route.Origin{{Key: "host", Label: "sozune.http.web.host"}},
	}
	got := p.Declarations[0]
	got.Set, got.Diagnostics = nil, nil
	if diff := cmp.Diff(want, got, plain); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(codesOf(p.Diagnostics), []string{"I001"}) {
		t.Errorf("diagnostics %v", p.Diagnostics)
	}
}
