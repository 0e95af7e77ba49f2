package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/api"
	"fairlead/api/client"
)

func (p *program) eventsCommand() *cobra.Command {
	var since, filter string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Follow what changes: backends, entrypoints, routes, providers",
		Long: `Prints a line for every change of health, of the routes and of the providers as it
happens, until it is interrupted. When the router goes away it waits, connects again
and goes on where it was; what was lost in between is said.

--since takes a duration such as 10m, or the rev of a frame of --json, and shows what the
router still has of that time: the last 1024 frames, of this run of it.
--json prints the frames as they come, one on a line (docs/reference/api.md).`,
		Example: "  fairlead events\n  fairlead events --since 10m --filter http_api\n  fairlead events --json | jq -c 'select(.type == \"transition\")'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.events(cmd.Context(), since, filter)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "begin a `DURATION` ago (10m), or behind a rev (default: now)")
	cmd.Flags().StringVar(&filter, "filter", "", "only lines that hold all of these `WORDS`: ids, names, addresses, states")
	p.asking(cmd)
	return cmd
}

// follower prints one stream over several connections.
type follower struct {
	*program
	client *client.Client
	words  []string
	since  *uint64   // where the next connection begins
	from   time.Time // earlier transitions are not printed
	boot   string    // of the router that was connected last, "" before
	away   bool      // the router does not answer, and that was said
}

// Pauses between attempts to connect again.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 10 * time.Second
)

func (p *program) events(ctx context.Context, since, filter string) error {
	f := &follower{program: p, words: strings.Fields(strings.ToLower(filter))}
	if err := f.begin(since); err != nil {
		return err
	}
	c, err := p.client()
	if err != nil {
		return err
	}
	defer c.Close()
	f.client = c
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		connected, err := f.watch(ctx)
		if ctx.Err() != nil {
			return nil // interrupted: that is how it ends
		}
		if err := f.unwritten(); err != nil {
			return err // no fault of the router, which would be asked for ever
		}
		var refused *client.StatusError
		if errors.As(err, &refused) && refused.Status != 503 || f.boot == "" {
			return asked(err)
		}
		if connected {
			pause = firstPause
		}
		f.lost(err)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// begin reads --since.
func (f *follower) begin(text string) error {
	if text == "" {
		return nil
	}
	if rev, err := strconv.ParseUint(text, 10, 64); err == nil {
		f.since = &rev
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return usage("write --since 10m, or the rev of a frame", "%s is neither a duration nor a rev", strconv.Quote(text))
	}
	f.since, f.from = new(uint64), time.Now().Add(-d)
	return nil
}

// watch follows one connection and reports whether there was one.
func (f *follower) watch(ctx context.Context) (connected bool, err error) {
	err = f.client.Watch(ctx, f.since, func(e client.Event) error {
		connected = true
		rev := e.Rev
		f.since = &rev
		if e.Hello != nil {
			f.hello(e.Hello)
		}
		f.show(e)
		return f.unwritten()
	})
	return connected, err
}

// lost says once that the router does not answer any more.
func (f *follower) lost(err error) {
	if f.away {
		return
	}
	f.away = true
	why := "the connection is lost"
	if errors.Is(err, client.ErrStopped) {
		why = "the router stops"
	}
	f.tell("%s: trying to connect again", why)
}

// tell writes a line about the stream itself, to where errors go.
func (f *follower) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(f.Err, "%s %s\n", f.style(f.Err).dim(time.Now().Format(time.TimeOnly)), fmt.Sprintf(format, args...))
}

// show writes a frame unless it is too old or the filter leaves it out. What says
// that something is missing is always written.
func (f *follower) show(e client.Event) {
	if f.json {
		if e.Hello != nil || e.Gap != nil || !timeOf(&e).Before(f.from) && f.wanted(string(e.Raw)) {
			f.say("%s", e.Raw)
		}
		return
	}
	e = cleaned(e)
	if e.Gap != nil {
		f.gap(e.Gap)
	}
	line := lineOf(&e, style{})
	if line == "" || timeOf(&e).Before(f.from) || !f.wanted(line) {
		return
	}
	s := f.style(f.Out)
	f.say("%s  %s", s.dim(timeOf(&e).Format("15:04:05.000")), lineOf(&e, s))
}

// timeOf is when it happened; frames of another version are as old as their arrival.
func timeOf(e *client.Event) time.Time {
	switch {
	case e.Transition != nil:
		return time.UnixMilli(e.Transition.Transition.AtMS)
	case e.Table != nil:
		return time.UnixMilli(e.Table.AtMS)
	case e.Provider != nil:
		return time.UnixMilli(e.Provider.AtMS)
	}
	return time.Now()
}

// lineOf is what people read of a frame, "" when there is nothing to say.
func lineOf(e *client.Event, s style) string {
	switch {
	case e.Transition != nil:
		return transitionLine(e.Transition, s)
	case e.Table != nil:
		return tableLine(e.Table)
	case e.Provider != nil:
		return statusLine(&e.Provider.Provider, s)
	}
	return ""
}

func (f *follower) wanted(line string) bool {
	line = strings.ToLower(line)
	for _, word := range f.words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

func (f *follower) hello(h *api.EventHello) {
	switch {
	case f.boot == "":
	case f.boot != h.Boot:
		f.tell("connected to a router that was started anew; what happened before it did is not known")
	case f.away:
		f.tell("connected again")
	}
	f.boot, f.away = h.Boot, false
}

func (f *follower) gap(g *api.EventGap) {
	switch {
	case g.Lost != nil:
		f.say("%s", f.style(f.Out).warn(fmt.Sprintf("-- %s lost here; fairlead health shows how things are now", plural(int(*g.Lost), "event"))))
	default:
		f.say("%s", f.style(f.Out).warn("-- events are lost here, nobody knows how many; fairlead health shows how things are now"))
	}
}

// transitionLine is such as: http_api  web-1 10.0.0.1:80  up > down  timeout: no
// answer in 2s (3 in a row), out of rotation.
func transitionLine(t *api.EventTransition, s style) string {
	tr := &t.Transition
	line := s.bold(t.Entrypoint)
	if t.Backend != nil {
		line += "  " + placeOf(t)
	}
	if tr.From == tr.To {
		line += "  still " + s.state(tr.To)
	} else {
		line += "  " + s.state(tr.From) + " > " + s.state(tr.To)
	}
	why := tr.Message
	if tr.Kind != nil && !strings.HasPrefix(why, *tr.Kind) {
		why = strings.TrimSuffix(*tr.Kind+": "+why, ": ")
	}
	if why != "" {
		line += "  " + why
	}
	line += orderedBy(tr)
	if t.Backend == nil {
		return line
	}
	if t.InRotation {
		return line + s.dim("  (in rotation)")
	}
	return line + s.dim("  (out of rotation)")
}

// orderedBy names whose order a transition followed, and the reason, unless its message
// does.
func orderedBy(t *api.Transition) string {
	if t.Actor == nil {
		return ""
	}
	text := ""
	if !strings.Contains(t.Message, *t.Actor) {
		text = "  by " + *t.Actor
	}
	if t.Reason != nil && !strings.Contains(t.Message, *t.Reason) {
		text += " (" + *t.Reason + ")"
	}
	return text
}

func placeOf(t *api.EventTransition) string {
	name := ""
	if t.Container != nil {
		name = *t.Container
	}
	if t.Address != nil {
		name = strings.TrimSpace(name + " " + *t.Address)
	}
	if name == "" {
		name = *t.Backend
	}
	return name
}

func tableLine(t *api.EventTable) string {
	var parts []string
	if t.All {
		parts = append(parts, "many changed")
	}
	if len(t.Changed) > 0 {
		parts = append(parts, few(t.Changed, 5)+" new or changed")
	}
	if len(t.Removed) > 0 {
		parts = append(parts, few(t.Removed, 5)+" removed")
	}
	if len(parts) > 0 {
		return "routes: " + strings.Join(parts, "; ")
	}
	return "diagnostics: other findings; fairlead validate shows them"
}

func statusLine(v *api.Provider, s style) string {
	line := "provider " + s.bold(v.Name) + "  " + s.state(v.Phase)
	if v.LastError != nil {
		line += "  " + *v.LastError
	}
	if v.Hint != nil {
		line += " (" + *v.Hint + ")"
	}
	return line
}
