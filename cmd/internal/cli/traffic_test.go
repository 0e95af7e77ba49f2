package cli

import (
	"testing"

	"fairlead/api"
)

func TestTrafficText(t *testing.T) {
	of := func(f float64) *float64 { return &f }
	for want, traffic := range map[string]*api.Traffic{
		"":                                       nil,
		"1234 requests/s, 0 % errors, p99 45 ms": {RatePerS: of(1234.4), ErrorRatio: of(0), P99MS: of(45.2)},
		"1.2 requests/s, 0.50 % errors, p99 2.5 ms":     {RatePerS: of(1.2), ErrorRatio: of(0.005), P99MS: of(2.5)},
		"0.02 requests/s, < 0.01 % errors, p99 0.10 ms": {RatePerS: of(0.017), ErrorRatio: of(0.000001), P99MS: of(0.1)},
	} {
		if got := trafficText(traffic); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := trafficText(&api.Traffic{RatePerS: of(0)}); got != "" {
		t.Errorf("without requests: %q", got)
	}
}
