package label

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"fairlead/router/route"
)

// passiveStatus is a status list that may be none.
func passiveStatus() values {
	v := statusList()
	v.accepts += ", or none"
	v.check = func(s string) error {
		_, err := asFailingStatuses(v, s)
		return err
	}
	return v
}

// asFailingStatuses reads a status list; none is the empty one.
func asFailingStatuses(v values, text string) (route.StatusSet, error) {
	if fold(text) == "none" {
		return route.StatusSet{}, nil
	}
	return asStatuses(v, text)
}

func asStatuses(_ values, text string) (route.StatusSet, error) {
	set, err := route.ParseStatusSet(text)
	if err != nil {
		return set, errors.New(shorten(err.Error(), shownValue))
	}
	return set, nil
}

// failures are the words of retry.on.
var failures = []struct {
	word string
	set  route.RetryOn
}{
	{"connect", route.RetryConnect}, {"timeout", route.RetryTimeout},
	{"502", route.Retry502}, {"503", route.Retry503}, {"504", route.Retry504},
}

func retryFailures() values {
	var words []string
	for _, f := range failures {
		words = append(words, f.word)
	}
	return values{kind: KindList, accepts: "a list of " + strings.Join(words, ", "), check: func(s string) error {
		_, err := asFailures(values{}, s)
		return err
	}}
}

func asFailures(_ values, text string) (set route.RetryOn, err error) {
	for _, w := range splitList(text) {
		known := false
		for _, f := range failures {
			if fold(w) == f.word {
				set, known = set|f.set, true
			}
		}
		if !known {
			return 0, fmt.Errorf("%s is no failure that can be tried again", shorten(w, 40))
		}
	}
	if set == 0 {
		return 0, errors.New("no failure is named")
	}
	return set, nil
}

func retryMethods() values {
	return values{kind: KindList, accepts: "HTTP methods, comma separated, or idempotent", check: func(s string) error {
		_, err := asRetryMethods(values{}, s)
		return err
	}}
}

// asRetryMethods returns route.Retry.Methods: sorted and separated by commas, "" for
// the idempotent ones.
func asRetryMethods(_ values, text string) (string, error) {
	if fold(text) == "idempotent" {
		return "", nil
	}
	var out []string
	for _, m := range splitList(text) {
		upper := strings.ToUpper(m)
		if !slices.Contains(knownMethods, upper) {
			return "", fmt.Errorf("%s is not a method that can be routed", shorten(m, 40))
		}
		out = append(out, upper)
	}
	if len(out) == 0 {
		return "", errors.New("no method is named")
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ","), nil
}

func ratio() values {
	return values{kind: KindRatio, accepts: "a number above 0, up to 1", check: func(s string) error {
		_, err := asRatio(values{}, s)
		return err
	}}
}

func asRatio(_ values, text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return 0, errors.New("not a number above 0, up to 1")
	}
	return f, nil
}

// asText is the text itself, as far as the key accepts it.
func asText(v values, text string) (string, error) {
	if err := v.problem(text); err != nil {
		return "", err
	}
	return text, nil
}

func nonEmpty(v values) values {
	inner := v.check
	v.check = func(s string) error {
		if s == "" {
			return errors.New("the text is empty")
		}
		return inner(s)
	}
	return v
}

// cookieName is a token (RFC 6265, section 4.1.1).
func cookieName() values {
	return values{kind: KindText, accepts: "letters, digits, - and _, up to 64 bytes", max: 64, check: func(s string) error {
		if !isToken(s) {
			return errors.New("not the name of a cookie")
		}
		return nil
	}}
}

// nameOrAddress is what a certificate is checked against.
func nameOrAddress() values {
	return values{kind: KindText, accepts: "a DNS name or an IP address", max: 255, check: func(s string) error {
		_, err := asServerName(values{}, s)
		return err
	}}
}

func asServerName(_ values, text string) (string, error) {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil && a.Zone() == "" {
		return a.String(), nil
	}
	h, err := parseHost(text)
	if err = cmp.Or(err, exact(h)); err != nil {
		return "", errors.New("not a name or an IP address")
	}
	return h.Text, nil
}

func exact(h route.HostPattern) error {
	if h.Kind != route.HostExact {
		return errors.New("a pattern")
	}
	return nil
}

// grpcService is the full name of a service (grpc.health.v1 leaves its form open).
func grpcService() values {
	return values{kind: KindText, accepts: "up to 255 printable ASCII characters without spaces", max: 255, check: func(s string) error {
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return errors.New("not the name of a gRPC service")
		}
		return nil
	}}
}
