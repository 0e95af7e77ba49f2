package label

import (
	"testing"
	"time"

	"fairlead/router/route"
)

// TestAdviceLeavesTheValueInForce: what is hardly meant is said, and used as it is. A file
// whose keys name the unit says nothing of it.
func TestAdviceLeavesTheValueInForce(t *testing.T) {
	c := Candidate{ID: "c", Labels: map[string]string{
		"sozune.enable": "true", "sozune.http.web.host": "web.example.com", "sozune.http.web.path": "/",
		"sozune.http.web.port": "80", "sozune.http.web.retry.methods": "get,Post", "sozune.http.web.slowStart": "30",
		"sozune.http.web.circuitBreaker.threshold": "0.5", "sozune.http.web.passive.latency": "3",
	}}
	for _, tt := range []struct {
		units bool
		want  int
	}{{false, 3}, {true, 1}} {
		cfg := testConfig()
		cfg.UnitsInKeys = tt.units
		p := Parse(cfg, c)
		d := &p.Declarations[0]
		if d.Options.Retry.Methods != "GET,POST" || d.Backend.SlowStart != 30*time.Millisecond || d.Options.Passive.Latency != 3*time.Millisecond {
			t.Errorf("%+v", d)
		}
		warned := 0
		for _, f := range p.Diagnostics {
			if f.Severity == route.SeverityWarn {
				warned++
			}
		}
		if warned != tt.want {
			t.Errorf("%v: %+v", tt.units, p.Diagnostics)
		}
	}
}
