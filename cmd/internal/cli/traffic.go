package cli

import (
	"strconv"

	"fairlead/api"
)

// trafficText is the last minute of an entrypoint in a few words; "" without requests.
func trafficText(t *api.Traffic) string {
	if t == nil || t.RatePerS == nil || t.ErrorRatio == nil || t.P99MS == nil {
		return ""
	}
	return number(*t.RatePerS) + " requests/s, " + number(*t.ErrorRatio*100) + " % errors, p99 " + number(*t.P99MS) + " ms"
}

// number writes a figure with as many digits as people read.
func number(f float64) string {
	switch {
	case f >= 10, f == 0:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 1:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case f >= 0.01:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return "< 0.01"
}
