package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// backend is one backend with all that is known of it.
type backend struct {
	Entrypoint  string
	ID, Name    string
	Address     string
	Mark        mark
	In          bool
	Reason      string // of being in rotation or out of it
	Since       moment
	Explain     string
	Advice      []string
	Code        string
	Check       string
	Next        moment
	Probing     bool
	Strip       strip
	Last        string
	LastChecked moment
	Streak      string
	Counters    string
	Weight      string
	InFlight    int64
	Tunnels     int64
	Figures     figures
	Image       string
	Started     moment
	History     []transition
	Bound       string
	// Order is what an operator said, nil while nobody took it out.
	Order *order
	// Flags are what holds beside the state: full, warming.
	Flags []mark
	// Facts are what its traffic, its load and a slow start say.
	Facts []fact
	// Suspect is said when the check itself is probably wrong, "" otherwise.
	Suspect string
	// Passes is what an answer to a probe must hold beside being one.
	Passes string
	Phases string // of the last probe
	Most   int    // requests at once, 0 is no limit
	// Acts are the orders that the caller may give.
	Acts []act
}

func (q *request) backend(v *router.EntrypointView, i int, b *api.BackendHealth) backend {
	h := &v.Health.Backends[i]
	out := backend{
		Entrypoint: v.Entrypoint.ID, ID: b.ID, Name: nameOf(&h.Backend), Address: b.Address, Mark: markOf(b.State), In: b.InRotation,
		Reason: words(b.RotationReason), Since: epochMoment(b.Since, q.now), Explain: b.Explain, Code: text(b.Code),
		Next: epochMaybe(b.NextCheckAt, q.now), Probing: b.InFlightProbe, Strip: newStrip(h.Probes), LastChecked: epochMaybe(b.LastChecked, q.now),
		InFlight: b.Load.InFlight, Tunnels: b.Load.Tunnels, Weight: weightText(b), Figures: q.backendFigures(v.Entrypoint.ID, h.Load),
	}
	out.Order, out.Flags, out.Facts, out.Most = q.orderOf(h), q.flagsOf(h), q.layerFacts(v, h), h.Backend.MaxConnections
	out.Acts = q.actsOn(h)
	out.Suspect = suspicion(text(b.Hint))
	steps := advice{said: b.Explain}
	if route.State(b.State) == route.StateDown || route.State(b.State) == route.StateGated {
		steps.add(adviceFor(b))
	} else {
		steps.add(text(b.Hint))
	}
	out.Advice = steps.list
	if b.Container != nil {
		out.Image, out.Started = text(b.Container.Image), epochMaybe(b.Container.StartedAt, q.now)
	}
	if c := b.Check; c != nil {
		out.Check, out.Bound = checkText(c, h.Check), durationText(c.DetectionBoundMS)
		out.Streak = streakText(b)
		out.Counters = grouped(int(b.Counters.Probes)) + " probes, " + grouped(int(b.Counters.Failures)) + " failed"
	}
	if r := b.LastResult; r != nil {
		out.Last, out.Phases = resultText(r), phasesText(h.LastResult.Phases)
		if h.Check != nil && h.Check.Check.Type == route.ProbeGRPC && h.LastResult.GRPC >= 0 {
			out.Last += ", grpc-status " + strconv.Itoa(h.LastResult.GRPC)
		}
	}
	if h.Check != nil {
		out.Passes = passesText(&h.Check.Check)
	}
	n := newest{most: mostTimeline}
	for j := range h.History {
		n.add(event{&h.History[j], v.Entrypoint.ID, ""})
	}
	out.History = q.transitionsOf(n.prune())
	return out
}

func weightText(b *api.BackendHealth) string {
	switch {
	case b.Weight.Configured == 0 && b.InRotation:
		return "backup, serving"
	case b.Weight.Configured == 0:
		return "backup"
	case !b.InRotation:
		return strconv.Itoa(b.Weight.Configured) + ", now 0"
	case float64(b.Weight.Configured) != b.Weight.Effective:
		return strconv.Itoa(b.Weight.Configured) + ", now " + strconv.FormatFloat(b.Weight.Effective, 'f', -1, 64)
	}
	return strconv.Itoa(b.Weight.Configured)
}

// streakText is how far a change of state is.
func streakText(b *api.BackendHealth) string {
	c := &b.Counters
	switch {
	case route.State(b.State) == route.StateDown && c.ConsecutiveOK > 0:
		return fmt.Sprintf("%d of %d successes in a row that bring it back", c.ConsecutiveOK, b.Check.HealthyThreshold)
	case route.State(b.State) == route.StateDown:
		return "back after " + countOf(b.Check.HealthyThreshold, "success") + " in a row"
	case c.ConsecutiveFail > 0 && route.State(b.State) == route.StatePending:
		return countOf(c.ConsecutiveFail, "probe") + " failed so far, and none passed"
	case c.ConsecutiveFail > 0:
		return fmt.Sprintf("%d of %d failures in a row that take it out", c.ConsecutiveFail, b.Check.UnhealthyThreshold)
	}
	return ""
}

func resultText(r *api.Result) string {
	took := msText(time.Duration(r.DurationMS * float64(time.Millisecond)))
	if r.OK {
		return "passed: " + r.Message + ", in " + took
	}
	return "failed: " + r.Message + ", after " + took
}

// durationText writes milliseconds as the labels do: "10s", "1m30s", "500ms".
func durationText(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d == 0:
		return "0"
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d >= time.Minute && d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	return d.String()
}

// strip is a backend's last probes as ticks: upwards what passed, the slower the higher;
// downwards what failed.
type strip struct {
	Ticks []tick
	Words string
}

// tick is one probe in the units of the strip.
type tick struct {
	OK        bool
	X, Y, Len int
	Words     string
}

// Size of the strip: its middle line is the border between passed and failed.
const (
	stripSlots  = route.MaxProbeTicks
	stripStep   = 6
	stripUp     = 24
	stripDown   = 10
	stripLowest = 3
)

// Width, Height and Line of a strip, for templates.
func (strip) Width() int  { return stripSlots * stripStep }
func (strip) Height() int { return stripUp + stripDown }
func (strip) Line() int   { return stripUp }

func newStrip(probes []route.ProbeTick) strip {
	if len(probes) > stripSlots {
		probes = probes[len(probes)-stripSlots:]
	}
	var s strip
	passed := 0
	var slowest time.Duration
	for i := range probes {
		p := &probes[i]
		t := tick{OK: p.OK, X: (stripSlots - len(probes) + i) * stripStep}
		when := p.At.UTC().Format("15:04:05 UTC")
		if p.OK {
			passed++
			slowest = max(slowest, p.Duration)
			t.Len = tickHeight(p.Duration)
			t.Y = stripUp - t.Len
			t.Words = when + ": passed in " + msText(p.Duration)
		} else {
			t.Y, t.Len = stripUp, stripDown
			t.Words = when + ": failed after " + msText(p.Duration) + ", " + words(p.Kind)
		}
		s.Ticks = append(s.Ticks, t)
	}
	if len(probes) > 0 {
		s.Words = strconv.Itoa(passed) + " of the last " + strconv.Itoa(len(probes)) + " probes passed"
		if passed > 0 {
			s.Words += ", the slowest in " + msText(slowest)
		}
	}
	return s
}

// Passed and Failed are the ticks as two drawings, for pages with many strips.
func (s strip) Passed() string { return s.drawing(true) }
func (s strip) Failed() string { return s.drawing(false) }

func (s strip) drawing(ok bool) string {
	var b strings.Builder
	for _, t := range s.Ticks {
		if t.OK == ok {
			fmt.Fprintf(&b, "M%d %dh4v%dh-4z", t.X, t.Y, t.Len)
		}
	}
	return b.String()
}

// tickHeight is logarithmic from 0.1 ms to 10 s: ten times as slow is a step of a fifth.
func tickHeight(d time.Duration) int {
	decades := math.Log10(max(d.Seconds(), 1e-4)) + 4
	return stripLowest + int(math.Round(min(decades/5, 1)*(stripUp-stripLowest)))
}
