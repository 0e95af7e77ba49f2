package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// segment is one backend in the strip of an entrypoint.
type segment struct {
	Mark mark
	Flag string // full, warming, or ""
	In   bool
	Name string
	X    int
}

// sign is the shape of its bar: a flag is seen where nothing louder is.
func (s segment) sign() string {
	if s.Flag != "" && s.Mark.Level == levelCalm {
		return signOf(s.Flag)
	}
	return s.Mark.Sign
}

// Words are what a segment says to those who do not see it.
func (s segment) Words() string {
	text := s.Name + ": " + s.Mark.Word
	if s.Flag != "" {
		text += ", " + s.Flag
	}
	if s.In {
		return text + ", in rotation"
	}
	return text + ", not in rotation"
}

// segmentWidth is the place of one bar.
const segmentWidth = 13

// segments puts the worst first when not all fit.
func (e *entry) segments(all []route.BackendHealth) {
	order := make([]*route.BackendHealth, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	if len(all) > mostSegments {
		slices.SortStableFunc(order, func(a, b *route.BackendHealth) int { return cmp.Compare(stateRank(a.State), stateRank(b.State)) })
		e.Hidden = len(all) - mostSegments
		order = order[:mostSegments]
	}
	for i, h := range order {
		e.Segments = append(e.Segments, segment{Mark: markOf(h.State), Flag: flagOf(h), In: h.InRotation && !isFull(h), Name: nameOf(&h.Backend), X: i * segmentWidth})
	}
}

// Words are what the strip says to those who do not see it: the numbers, and every
// backend that is not simply up and in rotation.
func (e entry) Words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d in rotation.", e.InRotation, e.Total)
	for _, s := range e.Segments {
		if !s.In || s.Mark.Level != levelCalm || s.Flag != "" {
			b.WriteString(" " + s.Words() + ".")
		}
	}
	return b.String()
}

// Line is the rotation below the bars, broken where a backend is not in it.
func (e entry) Line() string {
	var b strings.Builder
	for _, s := range e.Segments {
		if s.In {
			fmt.Fprintf(&b, "M%g 17h%d", float64(s.X)-1.5, segmentWidth)
		}
	}
	return b.String()
}

// Width of the strip in its own units.
func (e entry) Width() int { return max(len(e.Segments)*segmentWidth, 1) }

// bar stands for the bars of one sign and level, drawn as one: a strip in each of a hundred
// rows must be quick to make and to show.
type bar struct {
	Sign, Level, Path string
}

// Bars are the drawings of the strip.
func (e entry) Bars() []bar {
	var list []bar
	for _, s := range e.Segments {
		i := slices.IndexFunc(list, func(b bar) bool { return b.Sign == s.sign() && b.Level == s.Mark.Level })
		if i < 0 {
			i = len(list)
			list = append(list, bar{Sign: s.sign(), Level: s.Mark.Level})
		}
		list[i].Path += barPath(s.sign(), s.X)
	}
	return list
}

// barPath draws a bar of 10 by 14 at x. The style fills some signs, and outlines the
// others.
func barPath(sign string, x int) string {
	outline := fmt.Sprintf("M%d.75 .75h8.5v12.5h-8.5z", x)
	switch sign {
	case "ball":
		return fmt.Sprintf("M%d 0h10v14h-10z", x)
	case "ring", "dots":
		return outline
	case "cross":
		return fmt.Sprintf("M%d 0h10v3.2l-10 3.4zm0 10.2l10-3.4V14h-10z", x)
	case "gate":
		return outline + fmt.Sprintf("M%d .75v12.5", x+5)
	case "out":
		return fmt.Sprintf("M%d 14V3l10 8.5V14z", x)
	case "drain":
		return fmt.Sprintf("M%d 0h10l-5 8.5zm0 11.5h10V14h-10z", x)
	case "stop":
		return outline + fmt.Sprintf("M%d 6.3h4m-4 1.4h4", x+3)
	case "eject":
		return fmt.Sprintf("M%d 8.5L%d 0l5 8.5zm0 3h10V14h-10z", x, x+5)
	case "trial":
		return outline + fmt.Sprintf("M%d 5h2v4h-2z", x+4)
	case "full":
		return fmt.Sprintf("M%d 0h10v2h-10zm0 4h10v10h-10z", x)
	case "warming":
		return fmt.Sprintf("M%d 0v14h10V0h-1.5v7h-7V0z", x)
	}
	return outline + fmt.Sprintf("M%d 5h4m-4 4h4", x+3)
}

// stateRank orders backends, the worst first.
func stateRank(s route.State) int {
	switch s {
	case route.StateDown, route.StateGated, route.StateEjected:
		return 0
	case route.StateMaintenance, route.StateDraining, route.StateLeaving:
		return 1
	case route.StatePending, route.StateTrial:
		return 2
	case route.StateUnchecked, route.StateUp:
	}
	return 3
}
