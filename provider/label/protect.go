package label

import (
	"fmt"
	"regexp"
	"strings"

	"fairlead/router/route"
)

// protection judges the labels that restrict who gets in. A mistake closes the
// route (E104); what is right is not enforced by this version, so it closes the
// route as well (E113) instead of leaving it open. A wrong rate or in-flight limit
// is the exception of rule 4: it sets no limit.
func (s *scope) protection() {
	s.basicAuth()
	s.basicFile()
	s.forwardAuth()
	s.allowList()
	s.rateLimit()
	s.inFlight()
	if e, ok := s.get("redirect"); ok && fold(e.text) == "unauthorized" {
		s.unavailable(e)
	}
}

// unavailable closes the route because this version cannot protect it.
func (s *scope) unavailable(e entry) {
	s.add("E113", e.label, show(e.key, e.text), "remove the label if the route may be open, or use a version that knows it",
		"this version cannot enforce %s: the route answers 503 instead of standing open", e.key.Name)
	s.decl.fail("E113", e.label)
}

// invalid closes the route because a label that protects is wrong.
func (s *scope) invalid(e entry, format string, args ...any) {
	hint := fmt.Sprintf("set %s to %s", shorten(e.label, shownLabel), e.key.Accepts)
	if s.decl.Protocol == route.HTTP { // others are not routed at all
		hint = unenforced(hint, e.key)
	}
	s.add("E104", e.label, show(e.key, e.text), hint,
		format+": the route answers 503 instead of standing open", args...)
	s.decl.fail("E104", e.label)
}

const composeHint = "in a compose file each `$` of a hash must be written `$$`, otherwise compose takes it for a variable"

func (s *scope) basicAuth() {
	e, ok := s.get("auth.basic")
	if !ok {
		return
	}
	users := splitUsers(e.text)
	if len(users) == 0 {
		s.add("W011", e.label, "", "set "+e.label+" to user:hash", "no user is named")
	}
	valid := 0
	for i, u := range users {
		problem, hint := userProblem(u)
		if problem == "" {
			valid++
			continue
		}
		s.add("W007", e.label, route.Redacted, hint, "entry %d: %s; the entry is left out", i+1, problem)
	}
	if valid == 0 {
		s.invalid(e, "no valid user is left")
		return
	}
	s.unavailable(e)
}

// splitUsers cuts a list of user:hash. An argon2id hash holds two commas itself.
func splitUsers(text string) []string {
	var out []string
	for _, part := range splitList(text) {
		if n := len(out) - 1; n >= 0 && !strings.Contains(part, ":") && strings.Contains(out[n], "$argon2") && strings.Count(out[n], ",") < 2 {
			out[n] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

// hashShape matches sha256 in hexadecimal, bcrypt and argon2id.
var hashShape = regexp.MustCompile(`^(?:[0-9A-Fa-f]{64}|\$2[abxy]\$[0-9]{2}\$[./0-9A-Za-z]{53}|` +
	`\$argon2id\$v=[0-9]+\$m=[0-9]+,t=[0-9]+,p=[0-9]+\$[+/0-9A-Za-z]+\$[+/0-9A-Za-z]+)$`)

func userProblem(entry string) (problem, hint string) {
	user, hash, ok := strings.Cut(entry, ":")
	switch {
	case !ok:
		return "there is no `:` between user and hash", "write user:hash; " + composeHint
	case user == "":
		return "the user name is empty", "write user:hash"
	case strings.HasPrefix(hash, "$apr1$"), strings.HasPrefix(hash, "{SHA}"), strings.HasPrefix(hash, "$1$"):
		return "hashes of this kind are too weak to be accepted", "make a bcrypt hash (htpasswd -B), argon2id, or sha256 in hexadecimal"
	case !hashShape.MatchString(hash):
		return "the hash has an impossible shape", "use bcrypt, argon2id, or sha256 in hexadecimal; " + composeHint
	}
	return "", ""
}

func (s *scope) basicFile() {
	e, ok := s.get("auth.basicFile")
	switch {
	case !ok:
	case e.text == "" || e.key.values.problem(e.text) != nil:
		s.invalid(e, "no secret file is named")
	default:
		s.unavailable(e)
	}
}

func (s *scope) forwardAuth() {
	address, has := s.get("forwardAuth.address")
	if has {
		if err := address.key.values.problem(address.text); err != nil {
			s.bad(address, err.Error(), "nobody can be asked")
			s.invalid(address, "the address cannot be used")
		} else {
			s.unavailable(address)
		}
	}
	for _, name := range []string{"forwardAuth.responseHeaders", "forwardAuth.trustForwardHeader"} {
		e, ok := s.get(name)
		if !ok {
			continue
		}
		if err := e.key.values.problem(e.text); err != nil {
			s.badDefault(e, err)
		}
		if !has {
			s.invalid(e, "%s is missing", s.label("forwardAuth.address"))
		}
	}
}

func (s *scope) allowList() {
	e, ok := s.get("ipAllowList")
	if !ok {
		return
	}
	if len(s.networks(e)) == 0 {
		s.invalid(e, "no address or range is left")
		return
	}
	s.unavailable(e)
}

func (s *scope) rateLimit() {
	average, hasAverage := s.limit("ratelimit.average")
	burst, hasBurst := s.limit("ratelimit.burst")
	b, _ := s.get("ratelimit.burst")
	switch {
	case hasAverage && hasBurst && burst < average:
		s.add("W017", b.label, show(b.key, b.text), "set "+b.label+" to the average or more", "burst is below the average: the average is used")
	case hasBurst && !hasAverage:
		s.add("W004", b.label, show(b.key, b.text), s.closing("add "+s.label("ratelimit.average"), b.key), "a burst without a usable average: no limit is set")
	}
	if hasAverage {
		e, _ := s.get("ratelimit.average")
		s.unavailable(e)
	}
}

func (s *scope) inFlight() {
	if _, ok := s.limit("inFlightReq"); ok {
		e, _ := s.get("inFlightReq")
		s.unavailable(e)
	}
}

// limit reads a number that a wrong value leaves unset.
func (s *scope) limit(name string) (n int64, ok bool) {
	e, ok := s.get(name)
	if !ok {
		return 0, false
	}
	n, err := e.key.values.integer(e.text)
	if err != nil {
		s.bad(e, err.Error(), "no limit is set")
	}
	return n, err == nil
}
