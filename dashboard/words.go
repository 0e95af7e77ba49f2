package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead/router/route"
)

// Levels are how loudly something is shown.
const (
	levelCalm  = "calm"
	levelWatch = "watch"
	levelAlarm = "alarm"
)

// mark is how a state is shown: by a shape, a word and, through its level, a colour.
type mark struct {
	State string
	Word  string
	Level string
	Sign  string // names the shape
}

// markOf is the mark of a state of an entrypoint, a backend, a provider or a request. A
// state that is not known is shown as it is.
func markOf[T ~string](state T) mark {
	m := mark{State: string(state), Word: words(string(state)), Level: levelWatch, Sign: signOf(string(state))}
	switch m.Sign {
	case "ball", "ring", "info", "none":
		m.Level = levelCalm
	case "cross", "triangle", "gate", "eject", "switch":
		m.Level = levelAlarm
	}
	switch route.PassivePhase(state) {
	case route.PhaseClosed, route.PhaseOpen, route.PhaseHalfOpen:
		m.Word = "circuit " + m.Word
	}
	return m
}

// signOf names the shape of a state.
func signOf(state string) string {
	switch state {
	case "ok", "up", "ready", "served", "pass", "closed":
		return "ball"
	case "unchecked":
		return "ring"
	case "pending", "initializing":
		return "dots"
	case "partial":
		return "half"
	case "panic":
		return "triangle"
	case "down", "failed", "error", "unavailable", "no_route", "refuse", "refused":
		return "cross"
	}
	return signOfRest(state)
}

// signOfRest names the shapes of states that are less common.
func signOfRest(state string) string {
	switch state {
	case "gated":
		return "gate"
	case "leaving":
		return "out"
	case "draining":
		return "drain"
	case "maintenance":
		return "stop"
	case "ejected":
		return "eject"
	case "trial", "half_open":
		return "trial"
	case "open":
		return "switch"
	case "full":
		return "full"
	case "warming":
		return "warming"
	case "stale":
		return "broken"
	case "warn":
		return "bang"
	case "info":
		return "info"
	case "redirected", "rewrite":
		return "turn"
	case "off":
		return "none"
	}
	return "unknown"
}

// words writes an identifier of the API as words.
func words[T ~string](s T) string { return strings.ReplaceAll(string(s), "_", " ") }

// countOf is "1 backend", "2 backends", "no backends".
func countOf(n int, one string) string {
	many := one + "s"
	switch {
	case strings.HasSuffix(one, "y"):
		many = strings.TrimSuffix(one, "y") + "ies"
	case strings.HasSuffix(one, "s"):
		many = one + "es"
	}
	switch n {
	case 0:
		return "no " + many
	case 1:
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// grouped writes a number with thin spaces between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// span says how long something lasts, in one unit or two.
func span(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case hours >= 48:
		return fmt.Sprintf("%d d %d h", hours/24, hours%24)
	case hours >= 10 || hours > 0 && minutes == 0:
		return fmt.Sprintf("%d h", hours)
	case hours > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case minutes >= 10 || minutes > 0 && seconds == 0:
		return fmt.Sprintf("%d min", minutes)
	case minutes > 0:
		return fmt.Sprintf("%d min %d s", minutes, seconds)
	}
	return fmt.Sprintf("%d s", seconds)
}

// moment is a time as pages show it: how long ago or how far ahead, with the full time
// beside it. The script keeps the words current. The zero moment is not known.
type moment struct {
	Machine string // RFC 3339
	Full    string // "2027-01-15 08:00:00 UTC"
	Clock   string // "08:00:00 UTC"
	For     string // "3 min 12 s": since then, or until then
	Ahead   bool
	Epoch   int64
}

// Known reports whether there is a time.
func (m moment) Known() bool { return m.Machine != "" }

func momentOf(t, now time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	t = t.UTC()
	m := moment{
		Machine: t.Format(time.RFC3339), Full: t.Format("2006-01-02 15:04:05 UTC"), Clock: t.Format("15:04:05 UTC"),
		For: span(now.Sub(t)), Epoch: t.Unix(),
	}
	if t.After(now) {
		m.Ahead, m.For = true, span(t.Sub(now)+time.Second-1)
	}
	return m
}

// epochMoment is momentOf for the api package's whole seconds; 0 is not known.
func epochMoment(seconds int64, now time.Time) moment {
	if seconds <= 0 {
		return moment{}
	}
	return momentOf(time.Unix(seconds, 0), now)
}

func epochMaybe(seconds *int64, now time.Time) moment {
	if seconds == nil {
		return moment{}
	}
	return epochMoment(*seconds, now)
}

func rateText(perSecond float64) string {
	switch {
	case perSecond == 0:
		return "0"
	case perSecond < 10:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return grouped(int(perSecond + 0.5))
}

func shareText(share float64) string {
	switch percent := share * 100; {
	case percent == 0:
		return "0 %"
	case percent < 0.1:
		return "< 0.1 %"
	case percent < 10:
		return strings.TrimSuffix(strconv.FormatFloat(percent, 'f', 1, 64), ".0") + " %"
	default:
		return strconv.Itoa(int(percent+0.5)) + " %"
	}
}

// msText writes a duration with two or three digits that matter.
func msText(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
}

// text is the string behind a pointer, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func severityRank(s route.Severity) int {
	switch s {
	case route.SeverityError:
		return 0
	case route.SeverityWarn:
		return 1
	case route.SeverityInfo:
	}
	return 2
}
