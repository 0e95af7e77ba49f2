package label

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// bareFindings are the findings of one label about a number without a unit.
func bareFindings(list []route.Diagnostic) []route.Diagnostic {
	return slices.DeleteFunc(slices.Clone(list), func(d route.Diagnostic) bool { return !strings.Contains(d.Message, "a number without a unit is") })
}

// TestNumbersOfAnotherUnit: a number that was meant in seconds where milliseconds are
// taken, or the other way round, is warned of and used as it is.
func TestNumbersOfAnotherUnit(t *testing.T) {
	for name, c := range map[string]struct{ value, code, message, hint string }{
		"dialTimeout":                 {"5", "W129", "milliseconds: this is 5ms", "to 5s, or to 5ms if"},
		"drain.timeout":               {"30", "W129", "milliseconds: this is 30ms", "to 30s, or to 30ms if"},
		"holdFor":                     {"10", "W129", "milliseconds: this is 10ms", "to 10s, or to 10ms if"},
		"slowStart":                   {"30", "W129", "milliseconds: this is 30ms", "to 30s, or to 30ms if"},
		"maxConnections.queueTimeout": {"5", "W129", "milliseconds: this is 5ms", "to 5s, or to 5ms if"},
		"healthCheck.timeout":         {"60", "W021", "milliseconds: this is 60ms", "to 1m, or to 60ms if"},
		"healthCheck.interval":        {"120", "W021", "milliseconds: this is 120ms", "to 2m, or to 120ms if"},
		"healthCheck.downInterval":    {"120", "W021", "milliseconds: this is 120ms", "to 2m, or to 120ms if"},
		"healthCheck.fastInterval":    {"1", "W021", "milliseconds: this is 1ms", "to 1s, or to 1ms if"},
		"healthCheck.initialDelay":    {"700", "W021", "milliseconds: this is 700ms", "to 700ms if"}, // 700 s are too long
		"retry.tryDuration":           {"5", "W023", "milliseconds: this is 5ms", "to 5s, or to 5ms if"},
		"retry.tryInterval":           {"2", "W023", "milliseconds: this is 2ms", "to 2s, or to 2ms if"},
		"passive.window":              {"30", "W128", "milliseconds: this is 30ms", "to 30s, or to 30ms if"},
		"passive.latency":             {"3", "W128", "milliseconds: this is 3ms", "to 3s, or to 3ms if"},
		"backendTimeout":              {"30000", "W003", "seconds: this is 8h20m", "to 30s, or to 8h20m if"},
		"circuitBreaker.cooldown":     {"3000", "W024", "seconds: this is 50m", "to 3s, or to 50m if"},
		"stickySession.maxAge":        {"86400000", "W101", "seconds: this is 24000h", "to 24h, or to 24000h if"},
	} {
		labels := withCompanions(name, c.value)
		_, list := web(t, labels)
		found := bareFindings(list)
		if len(found) != 1 || found[0].Code != c.code || !strings.HasSuffix(found[0].Message, c.message) || !strings.Contains(found[0].Hint, c.hint) {
			t.Errorf("%s=%s: %+v", name, c.value, list)
		}
		for _, d := range list {
			if d.Severity != route.SeverityInfo && len(found) == 1 && d != found[0] {
				t.Errorf("%s=%s is told twice: %+v", name, c.value, d)
			}
		}
		fine := []string{"0", "1234ms", "5s", "1000"}
		if name == "circuitBreaker.cooldown" {
			fine[3] = "100"
		}
		for _, fine := range fine {
			if _, list := web(t, withCompanions(name, fine)); len(bareFindings(list)) > 0 {
				t.Errorf("%s=%s: %+v", name, fine, list)
			}
		}
	}
}

func TestNumbersOfAnotherUnitAreUsedAsTheyAre(t *testing.T) {
	labels := map[string]string{"dialTimeout": "5", "drain.timeout": "30", "holdFor": "10", "healthCheck.timeout": "60", "backendTimeout": "30000"}
	d, list := web(t, maps.Clone(labels))
	ms := time.Millisecond
	if d.Backend.DialTimeout != 5*ms || d.Options.DrainTimeout != 30*ms || d.Options.HoldFor != 10*ms || d.Check.Timeout != 60*ms || d.Options.BackendTimeout != 30000*time.Second {
		t.Errorf("%+v %+v", d.Backend, d.Options)
	}
	if n := len(bareFindings(list)); n != len(labels) {
		t.Errorf("%d findings: %+v", n, list)
	}
	for _, key := range []string{"drain.timeout", "holdfor", "backendtimeout"} { // they are in force all the same
		if !slices.ContainsFunc(d.Labels, func(o route.Origin) bool { return o.Key == key }) {
			t.Errorf("%s is not among the origins %+v", key, d.Labels)
		}
	}
}

// TestNumbersWithoutEffectAreToldOnce: what does nothing needs no word about its unit.
func TestNumbersWithoutEffectAreToldOnce(t *testing.T) {
	for _, labels := range []map[string]string{
		{"passive.window": "30"}, {"maxConnections.queueTimeout": "5"}, {"stickySession.maxAge": "86400000"},
		{"circuitBreaker.cooldown": "3000"}, {"healthCheck": "false", "healthCheck.timeout": "60"}, {"retry.attempts": "1", "retry.tryInterval": "2"},
	} {
		if _, list := web(t, labels); len(bareFindings(list)) > 0 {
			t.Errorf("%v: %+v", labels, list)
		}
	}
}

// TestEveryTimeHasABound: a new key of milliseconds says from where on a number is likely,
// and one of seconds up to where; or its range leaves no room for the mistake.
func TestEveryTimeHasABound(t *testing.T) {
	for _, k := range Keys() {
		if k.Kind != KindDuration {
			continue
		}
		bounded := k.least > 0 || k.values.min >= int64(time.Second)
		if k.values.unit == time.Second {
			bounded = k.most > 0
		}
		if !bounded {
			t.Errorf("%s: a number of another unit passes without a word", k.Name)
		}
		if int64(k.least) > k.values.max || int64(k.most) > k.values.max {
			t.Errorf("%s: the bound is out of the range", k.Name)
		}
	}
}
