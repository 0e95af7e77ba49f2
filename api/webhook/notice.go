package webhook

import (
	"strings"

	"fairlead/api"
	"fairlead/router/route"
)

// Level is how grave a notice is.
type Level string

// Levels: warn is what gets worse, info the way back and what operators do.
const (
	Info Level = "info"
	Warn Level = "warn"
)

// What a notice is about.
const (
	EventDown          = "down" // by a probe, or by Docker's word
	EventUp            = "up"
	EventEjected       = "ejected"
	EventReadmitted    = "readmitted"
	EventPanicStarted  = "panic_started"
	EventPanicEnded    = "panic_ended"
	EventBreakerOpened = "breaker_opened"
	EventBreakerClosed = "breaker_closed"
	// EventEntrypointDown: nothing serves, and clients get errors; not for the ordinary
	// moments of a deploy (route.Reason.Outage). It ends a panic, and a panic ends it.
	EventEntrypointDown = "entrypoint_down"
	EventEntrypointUp   = "entrypoint_up"
	EventDrain          = "drain"
	EventMaintenance    = "maintenance"
	EventReady          = "ready" // the operator's order is over
)

// Notice is the body of a POST: a transition as GET /events tells it, with words for
// people.
type Notice struct {
	api.EventTransition

	Event string `json:"event"`
	Level Level  `json:"level"` // info, warn
	// Text is one sentence for a chat.
	Text string `json:"text"`
	// Explain is why the backend, or the entrypoint, is where it is; null when that has
	// changed again meanwhile.
	Explain *string `json:"explain"`
}

// classify says what a transition is for a receiver; "" is nothing worth a notice.
func classify(t *route.Transition) (event string, level Level) {
	switch {
	case t.Debug, t.Cause == causeRestore: // an order that was in force before the restart is not new
		return "", Info
	case t.Backend == "":
		return classifyEntrypoint(t)
	case t.Renamed != "":
		return over(route.State(t.From)), Info
	case hiddenOrder(t) && t.Kind != route.KindNone:
		return EventEjected, Warn
	case hiddenOrder(t):
		return EventReadmitted, Info
	case t.From == t.To && !replaced(t):
		return "", Info
	}
	switch from, to := route.State(t.From), route.State(t.To); {
	case to == route.StateDraining:
		return EventDrain, Info
	case to == route.StateMaintenance:
		return EventMaintenance, Info
	case readyButOut(t):
		return EventReady, Warn // nothing else tells the fault
	case from == route.StateDraining, from == route.StateMaintenance:
		return EventReady, Info
	case to == route.StateEjected:
		return EventEjected, Warn
	case to.Faulty():
		return EventDown, Warn
	case !well(t.To):
		return "", Info
	case from == route.StateEjected, from == route.StateTrial:
		return EventReadmitted, Info
	}
	return EventUp, Info
}

// over is the notice by which what was told of a state ends: the entrypoint has another id,
// by which it is told anew.
func over(from route.State) string {
	switch from {
	case route.StateDraining, route.StateMaintenance:
		return EventReady
	case route.StateEjected, route.StateTrial:
		return EventReadmitted
	default:
		return EventUp
	}
}

// well reports whether a state is that of a backend that nothing is wrong with: one that is
// not probed is unchecked, and never up.
func well(state string) bool {
	return state == string(route.StateUp) || state == string(route.StateUnchecked)
}

// readyButOut reports whether an order is over, and a fault keeps the backend out.
func readyButOut(t *route.Transition) bool {
	from := route.State(t.From)
	return (from == route.StateDraining || from == route.StateMaintenance) && route.State(t.To).Faulty()
}

// causeRestore is the cause of transitions by orders that the router read at its start.
const causeRestore = "restore"

// replaced reports whether an order took the place of another one of the same state.
func replaced(t *route.Transition) bool {
	to := route.State(t.To)
	return t.From == t.To && t.Layer == "admin" && (to == route.StateDraining || to == route.StateMaintenance)
}

// hiddenOrder reports whether an operator ejected or readmitted a backend that another state
// keeps out, and goes on to.
func hiddenOrder(t *route.Transition) bool {
	return t.From == t.To && t.Layer == "passive" && t.Cause == "operator"
}

func classifyEntrypoint(t *route.Transition) (event string, level Level) {
	switch {
	case t.To == string(route.EntrypointPanic):
		return EventPanicStarted, Warn
	case t.Down.Outage():
		return EventEntrypointDown, Warn
	case t.From == string(route.EntrypointPanic):
		return EventPanicEnded, Info
	case t.To == string(route.PhaseOpen):
		return EventBreakerOpened, Warn
	case t.To == string(route.PhaseClosed):
		return EventBreakerClosed, Info
	case t.From == string(route.EntrypointDown) && t.From != t.To:
		return EventEntrypointUp, Info
	}
	return "", Info
}

// place names a backend over restarts: by its container where it has one.
func place(t *route.Transition) string {
	if t.Container != "" {
		return t.Entrypoint + "\n" + t.Container
	}
	return t.Entrypoint + "\n" + t.Address
}

// sentence is what a person reads in a chat.
func sentence(event string, t *route.Transition) string {
	var s strings.Builder
	s.WriteString(t.Entrypoint)
	if t.Backend != "" {
		s.WriteString(": " + subject(t))
	}
	if t.Renamed != "" {
		s.WriteString(" goes on under another id: " + t.Message + ".")
		return s.String()
	}
	if replaced(t) {
		s.WriteString(" stays out: " + t.Message + ".")
		return s.String()
	}
	s.WriteString(" " + predicate(event))
	if by := order(t); by != "" {
		s.WriteString(" " + by)
	}
	if event == EventReady && !well(t.To) {
		s.WriteString(", and its state is " + t.To)
	}
	if hiddenOrder(t) {
		s.WriteString(", and its state is " + t.To + " as before")
	}
	if t.Message != "" && (t.Actor == "" || readyButOut(t)) {
		s.WriteString(": " + strings.TrimRight(t.Message, "."))
	}
	if t.Backend != "" && !t.InRotation && event != EventDrain && event != EventMaintenance {
		s.WriteString("; it gets no requests")
	}
	if t.Backend != "" && t.InRotation && (event == EventDown || event == EventEjected || readyButOut(t)) {
		s.WriteString("; it still gets requests, because nothing better is left")
	}
	s.WriteString(".")
	return s.String()
}

func subject(t *route.Transition) string {
	switch {
	case t.Container != "" && t.Address != "":
		return t.Container + " (" + t.Address + ")"
	case t.Address != "":
		return t.Address
	}
	return t.Backend
}

func predicate(event string) string {
	switch event {
	case EventDown:
		return "is down"
	case EventUp:
		return "is up again"
	case EventEjected:
		return "was ejected"
	case EventReadmitted:
		return "was readmitted"
	case EventPanicStarted:
		return "is in panic"
	case EventPanicEnded:
		return "is out of panic"
	case EventBreakerOpened:
		return "is cut off from its backends by its circuit breaker"
	case EventBreakerClosed:
		return "is served again: its circuit breaker lets requests through"
	case EventEntrypointDown:
		return "is down"
	case EventEntrypointUp:
		return "is up again"
	case EventDrain:
		return "is drained"
	case EventMaintenance:
		return "is in maintenance"
	}
	return "is ready again"
}

// order says whose word it was, and why.
func order(t *route.Transition) string {
	if t.Actor == "" {
		return ""
	}
	if t.Reason == "" {
		return "by " + t.Actor
	}
	return "by " + t.Actor + " (" + t.Reason + ")"
}
