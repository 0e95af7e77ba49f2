package healthcheck

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// absent names the containers that are no backends now, with a colon before them.
func (en *entry) absent() string {
	if list := en.absences(true); list != "" {
		return ": " + list
	}
	return ""
}

// missing is a sentence about the containers that would be backends beside those
// that there are; stopped ones are not missed.
func (en *entry) missing() string {
	if list := en.absences(false); list != "" {
		return " Not used: " + list + "."
	}
	return ""
}

// absences says of each absent container why it is no backend and what to do, a few
// of them.
func (en *entry) absences(stopped bool) string {
	const most = 3
	var list, refused []string
	for i := range en.entrypoint.Absent {
		switch a := &en.entrypoint.Absent[i]; {
		case a.Why == route.AbsentRefused:
			refused = append(refused, a.Name)
		case a.Why != route.AbsentRetained || stopped:
			list = append(list, a.Name+" "+absence(a))
		}
	}
	if len(refused) > 0 {
		// They share a text: diagnostics do not say which container of the entrypoint they are about.
		list = slices.Insert(list, 0, en.refusal(refused))
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, "; ")
}

// absence is what a container is instead of a backend, and the next step.
func absence(a *route.Absence) string {
	switch a.Why {
	case route.AbsentPaused:
		return "is paused (docker unpause " + a.Name + " brings it back)"
	case route.AbsentRestarting:
		return "is restarting" + detail(a) + " (docker logs " + a.Name + " tells why it ended)"
	case route.AbsentNoAddress:
		return "has no address on a network (docker network connect gives it one)"
	case route.AbsentRetained:
		return "has stopped" + detail(a)
	default:
		return "cannot be used (" + strings.ReplaceAll(string(a.Why), "_", " ") + ")"
	}
}

func detail(a *route.Absence) string {
	if a.Detail == "" {
		return ""
	}
	return ", " + a.Detail
}

// refusal names refused containers with the errors that refuse them.
func (en *entry) refusal(names []string) string {
	const mostNames, mostCauses = 3, 2
	verb := " is refused ("
	if len(names) > 1 {
		verb = " are refused ("
	}
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames:mostNames], fmt.Sprintf("%d more", more))
	}
	var causes []string
	for i := range en.entrypoint.Diagnostics {
		d := &en.entrypoint.Diagnostics[i]
		text := d.Code + ": " + d.Message
		if d.Severity == route.SeverityError && len(causes) < mostCauses && !slices.Contains(causes, text) {
			causes = append(causes, text)
		}
	}
	return strings.Join(names, ", ") + verb + strings.Join(append(causes, "see fairlead validate"), "; ") + ")"
}
