package label

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fairlead/router/route"
)

// Kind says what the value of a key looks like.
type Kind string

// Kinds of values.
const (
	KindBool     Kind = "bool"
	KindInteger  Kind = "integer"
	KindDuration Kind = "duration"
	KindRatio    Kind = "ratio"
	KindChoice   Kind = "choice"
	KindList     Kind = "list"
	KindText     Kind = "text"
	KindPath     Kind = "path"
	KindRegex    Kind = "regex"
	KindStatus   Kind = "status list"
	KindURL      Kind = "url"
)

// Sizes that a value may have. They bound what a hostile label can cost.
const (
	maxText        = 4 << 10
	maxHeaderValue = 8 << 10
	maxPage        = 64 << 10
	maxPath        = 2048
	maxRegex       = 1024
)

// values says which texts a key accepts. check is nil when all that is to be known
// is in the other fields.
type values struct {
	kind     Kind
	accepts  string
	unit     time.Duration // of a bare number of a duration
	min, max int64         // nanoseconds for durations, bytes for texts
	words    map[string]string
	check    func(text string) error
}

func boolean() values { return values{kind: KindBool, accepts: "true or false"} }

func integer(lo, hi int64) values {
	return values{kind: KindInteger, accepts: fmt.Sprintf("a whole number, %d to %d", lo, hi), min: lo, max: hi}
}

func span(unit, lo, hi time.Duration) values {
	name := map[time.Duration]string{time.Millisecond: "milliseconds", time.Second: "seconds"}[unit]
	return values{
		kind:    KindDuration,
		accepts: fmt.Sprintf("%s or a duration such as 1m30s, %s to %s", name, short(lo), short(hi)),
		unit:    unit, min: int64(lo), max: int64(hi),
	}
}

// choice lists words. "a|b|c" is the word a with the aliases b and c; hyphens and
// underscores may be swapped or left out.
func choice(words ...string) values {
	v := values{kind: KindChoice, words: map[string]string{}}
	var names []string
	for _, w := range words {
		names = append(names, strings.Split(w, "|")[0])
		for alias := range strings.SplitSeq(w, "|") {
			v.words[squeeze(alias)] = names[len(names)-1]
		}
	}
	v.accepts = strings.Join(names, ", ")
	return v
}

func loadBalancers() values {
	return choice("round_robin|rr|wrr|roundrobin", "least_connections|leastconn|least_conn|lc|least",
		"power_of_two|p2c|power_of_two_choices", "random|rand", "hrw|rendezvous|iphash|source")
}

func streamBalancers() values {
	v := loadBalancers()
	v.words["maglev"] = "maglev"
	v.accepts += ", maglev"
	return v
}

func text(limit int64) values {
	return values{kind: KindText, accepts: fmt.Sprintf("text of up to %d bytes", limit), max: limit, check: plainText}
}

// accepting replaces the words that say what a value may be.
func (v values) accepting(words string) values { v.accepts = words; return v }

func list(accepts string) values { return values{kind: KindList, accepts: accepts} }

func path() values { return values{kind: KindPath, accepts: "a path that begins with /"} }

func regex() values {
	return values{kind: KindRegex, accepts: "an RE2 expression", check: func(s string) error {
		return compiles(s)
	}}
}

func statusList() values {
	return values{kind: KindStatus, accepts: "statuses such as 200, 2xx, 200-299, !204", check: func(s string) error {
		_, err := route.ParseStatusSet(s)
		return err
	}}
}

func webAddress() values {
	return values{kind: KindURL, accepts: "an http or https URL", check: func(s string) error {
		u, err := url.Parse(s)
		switch {
		case err != nil || len(s) > maxText:
			return errors.New("not a URL")
		case u.Scheme != "http" && u.Scheme != "https":
			return errors.New("the URL must begin with http:// or https://")
		case u.Hostname() == "":
			return errors.New("the URL names no host")
		}
		return nil
	}}
}

// compiles checks an expression as routes use it: anchored at both ends. Its error
// names the problem without repeating the whole expression.
func compiles(expr string) error {
	switch {
	case expr == "":
		return errors.New("the expression is empty")
	case len(expr) > maxRegex:
		return fmt.Errorf("the expression is longer than %d bytes", maxRegex)
	}
	if _, err := regexp.Compile(expr); err != nil { // without the anchors, which nobody wrote
		return errors.New(shorten(strings.TrimPrefix(err.Error(), "error parsing regexp: "), 80))
	}
	_, err := regexp.Compile(`^(?:` + expr + `)$`)
	return err
}

func plainText(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errors.New("control characters are not allowed")
	}
	return nil
}

// problem says what is wrong with a text, nil when the key accepts it.
func (v values) problem(text string) error {
	var err error
	switch {
	case v.kind == KindBool:
		_, err = parseBool(text)
	case v.kind == KindInteger:
		_, err = v.integer(text)
	case v.kind == KindDuration:
		_, err = v.duration(text)
	case v.kind == KindChoice:
		_, err = v.choice(text)
	case v.kind == KindText && int64(len(text)) > v.max:
		err = fmt.Errorf("longer than %d bytes", v.max)
	case v.check != nil:
		err = v.check(text)
	}
	return err
}

// parseBool reads the booleans of rule 6.
func parseBool(text string) (bool, error) {
	switch fold(text) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, errors.New("not a boolean")
}

// integer reads decimal digits; a sign is allowed only where negative numbers are.
func (v values) integer(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	signed := text != "" && (text[0] == '-' || text[0] == '+')
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("out of range")
	case err != nil || signed && v.min >= 0:
		return 0, errors.New("not a whole number")
	case n < v.min || n > v.max:
		return 0, errors.New("out of range")
	}
	return n, nil
}

// duration reads a bare number of the key's unit or a Go duration.
func (v values) duration(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		if err != nil || n > uint64(v.max/int64(v.unit)) || int64(n)*int64(v.unit) < v.min {
			return 0, errors.New("out of range")
		}
		return time.Duration(n) * v.unit, nil
	}
	d, err := time.ParseDuration(fold(text))
	switch {
	case err != nil || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-"):
		return 0, errors.New("not a time")
	case int64(d) < v.min || int64(d) > v.max:
		return 0, errors.New("out of range")
	}
	return d, nil
}

func (v values) choice(text string) (string, error) {
	if w, ok := v.words[squeeze(text)]; ok {
		return w, nil
	}
	return "", errors.New("not one of the words")
}

// squeeze makes the spellings of one word equal.
func squeeze(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(fold(strings.TrimSpace(s)))
}

// splitList cuts a list at its commas and drops empty entries.
func splitList(s string) []string {
	var out []string
	for entry := range strings.SplitSeq(s, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

// short renders a duration without trailing zero units.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
