package exchange

import (
	"net/url"
	"strings"
)

// HasQuery implements router.Request. Keys and values are decoded once; a pair
// that cannot be decoded matches nothing.
func (x *Exchange) HasQuery(name, value string, bare bool) bool {
	for rest := x.RawQuery; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		key, val, _ := strings.Cut(pair, "=")
		if equalDecoded(key, name) && (bare || equalDecoded(val, value)) {
			return true
		}
	}
	return false
}

// equalDecoded compares without allocating where nothing is encoded.
func equalDecoded(raw, want string) bool {
	if strings.IndexByte(raw, '%') < 0 && strings.IndexByte(raw, '+') < 0 {
		return raw == want
	}
	decoded, err := url.QueryUnescape(raw)
	return err == nil && decoded == want
}
