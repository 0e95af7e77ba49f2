package label

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

// TestBadValuesOfHealthKeys shows, for every wrong sample of every key about failing
// backends, the code, what is said, what is used instead, and the fix.
func TestBadValuesOfHealthKeys(t *testing.T) {
	families := []string{"healthCheck", "passive.", "circuitBreaker.", "retry.", "stickySession", "maxConnections", "slowStart", "panic", "noBackendStatus", "onDown", "drain.", "holdFor", "backendTLS.clientCert"}
	var b strings.Builder
	keys := 0
	for _, k := range Keys() {
		name := writing.Replace(k.Name)
		if !slices.Contains(k.Protocols, route.HTTP) || !slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(k.Name, f) }) {
			continue
		}
		if len(samples[k.Name].bad) == 0 {
			t.Errorf("%s: no wrong sample", k.Name)
		}
		keys++
		for _, v := range samples[k.Name].bad {
			_, list := web(t, withCompanions(name, v))
			fmt.Fprintf(&b, "%s=%.40q\n", name, v)
			for _, d := range list {
				if d.Label == "sozune.http.web."+name {
					fmt.Fprintf(&b, "    %s %s: %s | %s\n", d.Code, shorten(d.Value, 60), d.Message, d.Hint)
				}
			}
		}
	}
	if keys < 55 {
		t.Errorf("only %d keys", keys)
	}
	compareGolden(t, "testdata/bad_values.golden", []byte(b.String()))
}
