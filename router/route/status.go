package route

import (
	"fmt"
	"strconv"
	"strings"
)

// StatusSet is a set of HTTP status codes, 100 to 599, parsed from a list such as
// "200-299,401,!204". It is plain data and comparable.
type StatusSet struct {
	text string
	bits [8]uint64
}

// DefaultStatusSet accepts any 2xx or 3xx.
func DefaultStatusSet() StatusSet {
	s, err := ParseStatusSet("2xx,3xx")
	if err != nil {
		panic(err) // a constant
	}
	return s
}

// Contains reports whether code is in the set.
func (s StatusSet) Contains(code int) bool {
	i := code - 100
	return i >= 0 && i < 500 && s.bits[i/64]&(1<<(i%64)) != 0
}

// String returns the list it was parsed from.
func (s StatusSet) String() string { return s.text }

// ParseStatusSet reads a comma-separated list of n, a-b, Nxx and their negations
// with a leading "!". Negations win wherever they stand; a list of negations only
// takes away from 100-599. Errors name the entry.
func ParseStatusSet(list string) (StatusSet, error) {
	var s StatusSet
	var minus [8]uint64
	positive, entries := false, []string{}
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.ToLower(strings.TrimSpace(entry))
		body, negated := strings.CutPrefix(entry, "!")
		lo, hi, err := statusRange(strings.TrimSpace(body))
		if err != nil {
			return StatusSet{}, err
		}
		for code := lo; code <= hi; code++ {
			i := code - 100
			if negated {
				minus[i/64] |= 1 << (i % 64)
			} else {
				s.bits[i/64] |= 1 << (i % 64)
			}
		}
		positive = positive || !negated
		entries = append(entries, entry)
	}
	empty := true
	for i := range s.bits {
		if !positive {
			s.bits[i] = ^uint64(0)
		}
		if i == len(s.bits)-1 {
			s.bits[i] &= 1<<(500-64*i) - 1 // 599 is the last one
		}
		s.bits[i] &^= minus[i]
		empty = empty && s.bits[i] == 0
	}
	if empty {
		return StatusSet{}, fmt.Errorf("%q accepts no status at all", list)
	}
	s.text = strings.Join(entries, ",")
	return s, nil
}

func statusRange(entry string) (lo, hi int, err error) {
	if len(entry) == 3 && entry[1:] == "xx" && entry[0] >= '1' && entry[0] <= '5' {
		lo = int(entry[0]-'0') * 100
		return lo, lo + 99, nil
	}
	from, to, ranged := strings.Cut(entry, "-")
	lo, err = statusCode(from, entry)
	if err != nil || !ranged {
		return lo, lo, err
	}
	hi, err = statusCode(to, entry)
	if err == nil && hi < lo {
		err = fmt.Errorf("%q: the range ends before it begins", entry)
	}
	return lo, hi, err
}

func statusCode(s, entry string) (int, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.Atoi(s)
	if err != nil || len(s) != 3 || n < 100 || n > 599 {
		return 0, fmt.Errorf("%q is not a status (100-599), a range or a class such as 2xx", entry)
	}
	return n, nil
}
