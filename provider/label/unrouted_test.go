package label

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

// TestHostsOfWhatIsNotRouted: whoever asks for them is told who declares them, however they
// are refused, and in a candidate of which another service is routed as well.
func TestHostsOfWhatIsNotRouted(t *testing.T) {
	long := strings.Repeat("a,", 40)
	for name, c := range map[string]struct {
		labels map[string]string
		oneOff bool
		want   []string
	}{
		"not enabled": {map[string]string{"sozune.http.x.host": "x.localhost, *.x.localhost", "sozune.http.y.host": "y.localhost"}, false,
			[]string{"container c1: E001 add the label sozune.enable=true: x.localhost *.x.localhost y.localhost"}},
		"enabled with a slip": {map[string]string{"sozune.enabel": "true", "sozune.http.x.host": "x.localhost"}, false,
			[]string{"container c1: E001 did you mean sozune.enable=true?: x.localhost"}},
		"turned off": {map[string]string{"sozune.enable": "false", "sozune.http.x.host": "x.localhost"}, false, nil},
		"one-off": {map[string]string{"sozune.enable": "true", "sozune.http.x.host": "x.localhost"}, true,
			[]string{"container c1:  `docker compose run` containers get no traffic; start the service with `docker compose up`: x.localhost"}},
		"beside a route": {map[string]string{"sozune.enable": "true", "sozune.http.x.host": "x.localhost", "sozune.http.bad.host": "bad.localhost", "sozune.http.bad.pathRegex": "("}, false,
			[]string{"service bad of container c1: E109 *: bad.localhost"}},
		"host with a slip": {map[string]string{"sozune.enable": "true", "sozune.http.x.hots": "x.localhost"}, false,
			[]string{"service x of container c1: E002 *: x.localhost"}},
		"protocol with a slip": {map[string]string{"sozune.enable": "true", "sozune.htp.x.host": "x.localhost"}, false,
			[]string{"label sozune.htp.x.host of container c1: W012 did you mean sozune.http.x.host?: x.localhost"}},
		"no service": {map[string]string{"sozune.enable": "true", "sozune.http.host": "x.localhost"}, false,
			[]string{"label sozune.http.host of container c1: E004 write sozune.http.<service>.host: x.localhost"}},
		"routed":             {map[string]string{"sozune.enable": "true", "sozune.http.x.host": "x.localhost"}, false, nil},
		"nothing to be read": {map[string]string{"sozune.http.x.host": "http://x, a b"}, false, nil},
		"many": {map[string]string{"sozune.http.x.host": long, "sozune.http.y.host": long}, false,
			[]string{"container c1: E001 add the label sozune.enable=true: " + strings.TrimSpace(strings.Repeat("a ", maxDeclared))}},
	} {
		in := Input{Candidate: Candidate{ID: "c1", Name: "c1", OneOff: c.oneOff, Labels: c.labels}, Presence: Present}
		in.Parsed = Parse(Config{}, in.Candidate)
		var got []string
		for _, u := range Group([]Input{in}, nil).Unrouted {
			got = append(got, fmt.Sprintf("%s: %s %s: %s", u.What, u.Code, u.Hint, hostTexts(u.Hosts)))
			if u.Reason == "" || u.Hint == "" {
				t.Errorf("%s: no reason or no fix: %+v", name, u)
			}
		}
		if !slices.EqualFunc(got, c.want, func(got, want string) bool {
			before, after, some := strings.Cut(want, "*: ")
			return got == want || some && strings.HasPrefix(got, before) && strings.HasSuffix(got, ": "+after)
		}) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func hostTexts(hosts []route.HostPattern) string {
	var texts []string
	for _, h := range hosts {
		texts = append(texts, h.Text)
	}
	return strings.Join(texts, " ")
}
