package dashboard

import (
	"strconv"

	"fairlead/router/route"
)

// effects say what will happen when an operation is carried out, as far as the view
// knows.
func effects(t target, name string) []effect {
	h := t.health()
	say := func(texts ...string) []effect {
		list := make([]effect, len(texts))
		for i, s := range texts {
			list[i] = effect{Text: s}
		}
		return list
	}
	o := &t.view.Entrypoint.Options
	switch route.OrderAction(name) {
	case route.OrderDrain:
		list := say("No new requests; " + inFlightText(h) + ".")
		if o.Sticky.On {
			list = append(list, say("Clients that a cookie binds to it stay for "+duration(o.DrainTimeout)+" more (drain.timeout).")...)
		}
		list = append(list, say("Probes go on, so that it is known to work when it returns.")...)
		return append(list, staying(t))
	case route.OrderMaintenance:
		return append(say("Nothing new at once, for clients bound to it neither; "+inFlightText(h)+".", "Idle connections to it are closed, and probes stop."), staying(t))
	case route.OrderReady:
		return say("Whether it serves is up to its probes, its traffic and "+sourceName(t)+" again.", lastWord(h))
	case route.OrderEject:
		return append(say("As if requests on it had failed: no new ones; "+inFlightText(h)+".", "It returns "+returnText(o.Passive.Recovery, o.Passive.Trials)+"."), staying(t))
	case route.OrderUneject:
		return say("It gets its share of the requests again at once, without a trial.", lastWord(h))
	}
	return say("One probe is sent now, beside those that are planned.", "Nothing changes by it unless it counts.")
}

func sourceName(t target) string {
	if t.view.Entrypoint.Source == "" {
		return "its provider"
	}
	return t.view.Entrypoint.Source
}

func lastWord(h *route.BackendHealth) string {
	switch {
	case h.Check == nil:
		return "It is not probed."
	case h.LastResult == nil:
		return "No probe has been answered yet."
	case h.LastResult.OK:
		return "Its last probe passed."
	}
	return "Its last probe failed: " + h.LastResult.Message + "."
}

// staying says who is left to serve.
func staying(t target) effect {
	all := t.view.Health.Backends
	serving, able := 0, 0
	for i := range all {
		h := &all[i]
		if i == t.index {
			continue
		}
		if h.InRotation {
			serving++
		}
		if taken(h) {
			continue
		}
		able++
	}
	switch {
	case serving == 1:
		return effect{Text: "1 of " + countOf(len(all), "backend") + " stays in rotation."}
	case serving > 1:
		return effect{Text: strconv.Itoa(serving) + " of " + countOf(len(all), "backend") + " stay in rotation."}
	case able > 0:
		return effect{Text: "No other backend is in rotation now; what is left is not verified.", Loud: true}
	}
	return effect{Text: "No other backend is left: the router refuses this unless it is forced.", Loud: true}
}

// taken reports whether an operator, Docker or its end keeps a backend from serving.
func taken(h *route.BackendHealth) bool {
	switch h.State {
	case route.StateMaintenance, route.StateDraining, route.StateLeaving, route.StateGated:
		return true
	default:
		return false
	}
}
