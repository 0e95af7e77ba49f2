package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// standing names what is ordered: of one backend, and of all of its entrypoint. A form
// carries it, so that an order is not replaced by somebody who has not seen it.
type standing struct{ One, All string }

// standingOf reads it from the view.
func standingOf(t target) standing {
	var all strings.Builder
	for i := range t.view.Health.Backends {
		all.WriteString(nameOfOrder(&t.view.Health.Backends[i]) + "\n")
	}
	return standing{shortSum(nameOfOrder(t.health())), shortSum(all.String())}
}

// nameOfOrder differs for any two orders. What was ready by somebody's word is as what
// always was.
func nameOfOrder(h *route.BackendHealth) string {
	a := &h.Admin
	if !inForce(a) {
		return h.Backend.ID
	}
	return fmt.Sprintf("%q %s %q %q %d %d %s", h.Backend.ID, a.State, a.Actor, a.Reason, a.Since.UnixNano(), unixOrZero(a.ExpiresAt), a.Scope)
}

func unixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func shortSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// String is the field of the form.
func (s standing) String() string { return s.One + "." + s.All }

// holds reports whether what a form showed still stands. A form without the field, as of
// a program, has shown nothing that could have changed.
func (s standing) holds(sent, scope string) bool {
	if sent == "" {
		return true
	}
	one, all, _ := strings.Cut(sent, ".")
	return one == s.One && (scope != string(route.ScopeService) || all == s.All)
}

// inForce reports whether a word of an operator keeps a backend out.
func inForce(a *route.Admin) bool {
	return a.State == route.AdminDrain || a.State == route.AdminMaintenance
}

// orderWords name an order in force: what, whose, since when, why, and until when.
func orderWords(a *route.Admin, now time.Time) string {
	who := a.Actor
	if who == "" {
		who = "an operator"
	}
	text := "the " + string(a.State) + " by " + who + " since " + clockOf(a.Since, now)
	if a.Reason != "" {
		text += " (" + a.Reason + ")"
	}
	if a.ExpiresAt.IsZero() {
		return text
	}
	return text + ", which was to end at " + clockOf(a.ExpiresAt, now)
}

// clockOf is a time of today, or a full one.
func clockOf(t, now time.Time) string {
	m := momentOf(t, now)
	if t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return m.Clock
	}
	return m.Full
}

// isWord reports whether an operation is about what operators say of a backend.
func isWord(name string) bool {
	switch route.OrderAction(name) {
	case route.OrderDrain, route.OrderMaintenance, route.OrderReady:
		return true
	default:
		return false
	}
}

// replaced says which order an operation replaces or ends, "" for none.
func (q *request) replaced(t target, name string) string {
	a := &t.health().Admin
	if !inForce(a) || !isWord(name) {
		return ""
	}
	verb := "Replaces "
	if name == string(route.OrderReady) {
		verb = "Ends "
	}
	return verb + orderWords(a, q.now) + "."
}

// replaces are the sentences about orders in force that an operation replaces or ends:
// loud when they are those of somebody else.
func (q *request) replaces(t target, name string) []effect {
	if !isWord(name) {
		return nil
	}
	me, _ := api.Who(q.http)
	var list []effect
	if text := q.replaced(t, name); text != "" {
		list = append(list, effect{Text: text, Loud: t.health().Admin.Actor != me.Name})
	}
	const most = 5
	var others []string
	for i := range t.view.Health.Backends {
		h := &t.view.Health.Backends[i]
		if i == t.index || !inForce(&h.Admin) || h.Admin == t.health().Admin {
			continue
		}
		if len(others) == most {
			others = append(others, "more")
			break
		}
		others = append(others, orderWords(&h.Admin, q.now)+" of "+nameOf(&h.Backend))
	}
	if len(others) > 0 {
		verb := "replaces "
		if name == string(route.OrderReady) {
			verb = "ends "
		}
		list = append(list, effect{Text: "If it holds for every backend, it also " + verb + strings.Join(others, "; ") + "."})
	}
	return list
}

// overtaken says that what is ordered is not what the form showed.
func (q *request) overtaken(t target) string {
	now := "nothing is ordered now"
	if a := &t.health().Admin; inForce(a) {
		now = "in force is now " + strings.Replace(orderWords(a, q.now), "which was to end", "which ends", 1)
	}
	return "Nothing was done, for another order came in between: " + now + ". Send it again if that is still meant."
}

// saidKeys of the query that leads back from an order: what it replaced, and a proof
// that this program wrote it.
const (
	saidKey  = "said"
	proofKey = "proof"
)

// say puts a sentence into the query that leads to a page.
func (d *Dashboard) say(query url.Values, text string) {
	if text != "" {
		query.Set(saidKey, text)
		query.Set(proofKey, d.proof(query))
	}
}

// said reads it; an address that somebody made up says nothing.
func (d *Dashboard) said(query url.Values) string {
	if !hmac.Equal([]byte(query.Get(proofKey)), []byte(d.proof(query))) {
		return ""
	}
	return query.Get(saidKey)
}

func (d *Dashboard) proof(query url.Values) string {
	sum := hmac.New(sha256.New, d.key[:])
	_, _ = fmt.Fprintf(sum, "%q %q %q", query.Get("backend"), query.Get("done"), query.Get(saidKey))
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
