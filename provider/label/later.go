package label

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"fairlead/router/route"
)

// laterKeys validates the keys that this version knows but does not act on: their
// mistakes are worth finding before the feature is there.
func (s *scope) laterKeys() {
	for _, e := range s.sortedEntries() {
		if e.key == nil || e.key.Available != Later {
			continue
		}
		if err := laterProblem(e); err != nil {
			s.badDefault(e, err)
			continue
		}
		if s.decl.FailClosed != nil && s.decl.FailClosed.Label == e.label {
			continue // redirect=unauthorized has been judged as a protection
		}
		s.pitfalls(e)
		used := "the label has no effect"
		if e.key.Default != "" {
			used = "the default, " + e.key.Default + ", is used"
		}
		s.notYet(e, used)
	}
}

func laterProblem(e entry) error {
	if err := e.key.values.problem(e.text); err != nil {
		return err
	}
	if e.key.Name == "errorPages.<code>" {
		if n, err := integer(400, 599).integer(e.param); err != nil || n == 0 {
			return fmt.Errorf("%s is not an error status (400-599)", shorten(e.param, 40))
		}
	}
	if e.key.Name == "plugins" && len(splitList(e.text)) == 0 {
		return errors.New("no plugin is named")
	}
	return nil
}

// pitfalls finds values that are right by themselves and wrong in their place.
func (s *scope) pitfalls(e entry) {
	switch e.key.Name {
	case "httpsRedirect":
		tlsKey := catalog.must(route.HTTP, "tls")
		tls, ok := s.get("tls")
		on, _ := parseBool(tls.text)
		if redirect, _ := parseBool(e.text); redirect && (!ok || !on) {
			s.add("W016", e.label, show(e.key, e.text), notYetHere("add "+s.label("tls")+"=true", tlsKey),
				"the redirect would lead to a route that is not served on HTTPS: it is ignored")
		}
	}
}

// comparison is what a value is compared by across containers. A secret is
// compared by its digest, so that no print of a declaration can show it.
func comparison(e entry) string {
	if !e.key.Secret && !e.key.Query {
		return e.text
	}
	sum := sha256.Sum256([]byte(e.text))
	return hex.EncodeToString(sum[:])
}
