package config

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// setText gives a setting the value that a flag or a variable holds. Lists are
// separated by commas, tables are name=value pairs separated by commas. A setting
// that got a bad value keeps the one it had.
func (l leaf) setText(text string) error {
	text = strings.TrimSpace(text)
	switch target := l.value.Addr().Interface().(type) {
	case *string:
		return l.setWord(text)
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		*target = b
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		return l.setInt(n)
	case *time.Duration:
		d, err := parseDuration(text)
		if err != nil {
			return err
		}
		return l.setDuration(d)
	case *map[string]string:
		table, err := parseTable(text)
		if err != nil {
			return err
		}
		*target = table
	case *route.Secret:
		*target = route.Secret(text)
	case *[]api.User:
		users, err := parseUsers(text)
		if err != nil {
			return err
		}
		*target = users
	default:
		return l.setList(splitList(text))
	}
	return nil
}

// setWord sets a text, which must be one of the permitted words when there are such.
func (l leaf) setWord(text string) error {
	if one := l.tag.Get("one"); one != "" {
		words := strings.Split(one, ",")
		if !slices.Contains(words, text) {
			return errors.New(notOneOf(text, words))
		}
	}
	l.value.SetString(text)
	return nil
}

func notOneOf(text string, words []string) string {
	msg := fmt.Sprintf("%q is not one of %s", text, orList(words))
	if near := nearest(text, words); near != "" {
		msg += fmt.Sprintf(": did you mean %s?", near)
	}
	return msg
}

func (l leaf) setInt(n int) error {
	lo, errLo := strconv.Atoi(l.tag.Get("min"))
	hi, errHi := strconv.Atoi(l.tag.Get("max"))
	if errLo == nil && errHi == nil && (n < lo || n > hi) {
		return fmt.Errorf("%d is out of range: %d to %d", n, lo, hi)
	}
	l.value.SetInt(int64(n))
	return nil
}

func (l leaf) setDuration(d time.Duration) error {
	lo, errLo := time.ParseDuration(l.tag.Get("min"))
	hi, errHi := time.ParseDuration(l.tag.Get("max"))
	if errLo == nil && errHi == nil && (d < lo || d > hi) {
		return fmt.Errorf("%s is out of range: %s", showDuration(d), l.rangeText())
	}
	l.value.SetInt(int64(d))
	return nil
}

// parseDuration reads a Go duration, or a bare number of milliseconds.
func parseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return milliseconds(n)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: write 500ms, 10s, 2m or a number of milliseconds", text)
	}
	return d, nil
}

func milliseconds(n int64) (time.Duration, error) {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	if n > most || n < -most {
		return 0, fmt.Errorf("%d milliseconds are out of range", n)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// setList sets a list of texts or of address ranges.
func (l leaf) setList(items []string) error {
	switch target := l.value.Addr().Interface().(type) {
	case *[]string:
		*target = items
	case *[]netip.Prefix:
		prefixes := make([]netip.Prefix, 0, len(items))
		for _, item := range items {
			p, err := parsePrefix(item)
			if err != nil {
				return err
			}
			prefixes = append(prefixes, p)
		}
		*target = prefixes
	}
	return nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is neither an IP address nor a network such as 192.168.10.0/24", text)
	}
	if p != p.Masked() {
		return p, fmt.Errorf("%q has bits behind its mask: write %s for the network or %s for the one address", text, p.Masked(), p.Addr())
	}
	return p, nil
}

func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func parseTable(text string) (map[string]string, error) {
	table := map[string]string{}
	for _, item := range splitList(text) {
		name, value, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not name=value", item)
		}
		table[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return table, nil
}

// show writes a value as a variable would hold it.
func show(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return showDuration(value)
	case []string:
		return strings.Join(value, ",")
	case []api.User:
		return showUsers(value)
	case route.Secret:
		return showSecret(value)
	case []netip.Prefix:
		texts := make([]string, len(value))
		for i, p := range value {
			texts[i] = p.String()
		}
		return strings.Join(texts, ",")
	case map[string]string:
		var pairs []string
		for name, text := range value {
			pairs = append(pairs, name+"="+text)
		}
		slices.Sort(pairs)
		return strings.Join(pairs, ",")
	}
	return fmt.Sprint(v.Interface())
}

// showSecret tells whether there is a secret.
func showSecret(s route.Secret) string {
	if s == "" {
		return ""
	}
	return route.Redacted
}

// showDuration is d without zero units behind it: 1m, not 1m0s.
func showDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}
