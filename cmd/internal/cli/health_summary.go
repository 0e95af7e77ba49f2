package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// Shares of errors that are said as such: some requests fail, and most of them do.
const (
	muchError   = 0.05
	mostlyError = 0.5
)

// failing says how many requests failed lately, "" while few did.
func failing(t *api.Traffic) string {
	switch {
	case t == nil || t.ErrorRatio == nil || *t.ErrorRatio < muchError:
		return ""
	case *t.ErrorRatio >= 1:
		return "every request of the last minute failed"
	}
	return number(min(*t.ErrorRatio*100, 99)) + " % of the requests of the last minute failed"
}

// worst is how bad an entrypoint is, 0 is the worst: as the overview of the dashboard has
// it.
func worst(e *api.Entrypoint, now time.Time) int {
	state := route.EntrypointState(e.Health.State)
	open := e.Health.Breaker != nil && e.Health.Breaker.State == string(route.PhaseOpen)
	well := (state == route.EntrypointOK || state == route.EntrypointUnchecked) && !open
	switch {
	case state == route.EntrypointDown:
		return 0
	case !well && e.Traffic != nil && e.Traffic.ErrorRatio != nil && *e.Traffic.ErrorRatio >= mostlyError:
		return 1
	case open:
		return 2
	case state == route.EntrypointPanic:
		return 3
	case state == route.EntrypointPartial:
		return 4
	case state == route.EntrypointPending:
		return 5
	case e.ShadowedBy != nil:
		return 6
	case e.Health.Flapping.At(now):
		return 7
	}
	return 8
}

// worstFirst sorts a list for people; equals stay in the order of their ids.
func worstFirst(list []api.Entrypoint, now time.Time) {
	slices.SortStableFunc(list, func(a, b api.Entrypoint) int { return cmp.Compare(worst(&a, now), worst(&b, now)) })
}

// summary is how many entrypoints are in which state, in one line.
func (p *program) summary(list []api.Entrypoint, now time.Time) string {
	s := p.style(p.Out)
	count := map[string]int{}
	flapping := 0
	for i := range list {
		count[list[i].Health.State]++
		if list[i].Health.Flapping.At(now) {
			flapping++
		}
	}
	var parts []string
	for _, state := range []route.EntrypointState{
		route.EntrypointDown, route.EntrypointPanic, route.EntrypointPartial, route.EntrypointPending, route.EntrypointOK, route.EntrypointUnchecked,
	} {
		if n := count[string(state)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d ", n)+s.state(string(state)))
		}
	}
	text := plural(len(list), "entrypoint") + ": " + strings.Join(parts, ", ")
	if flapping > 0 {
		text += "; " + s.warn(fmt.Sprintf("%d flapping", flapping))
	}
	return text
}
