package console

import "testing"

// TestChecksOfOutput: what may differ, and what may not.
func TestChecksOfOutput(t *testing.T) {
	step := Steps("text\n```console\n$ show\nA  127.0.0.1:80  up for 8s\n...\n  at 10:09:25 UTC, 5 probes in a row\n```\n")[0]
	for out, good := range map[string]bool{
		"A 127.0.0.1:41079 up for 1 min 2 s\nmore\nat 00:00:00.123 UTC, 17 probes in a row\nend": true,
		"A 127.0.0.1:80 up for 1m 2s\nat 10:09:25 UTC, 5 probes in a row":                        true,
		"A 10.0.0.7:80 up for 8s at 10:09:25 UTC, 5 probes in a row":                             true,
		"A 127.0.0.1:80 down for 8s\nat 10:09:25 UTC, 5 probes in a row":                         false,
		"at 10:09:25 UTC, 5 probes in a row\nA 127.0.0.1:80 up for 8s":                           false,
		"A 127.0.0.1:80 up for 8s": false,
		"":                         false,
	} {
		if err := step.Check(out); (err == nil) != good {
			t.Errorf("%q: %v", out, err)
		}
	}
}
