package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fairlead/router/route"
)

// Pace of the safety nets.
const (
	watchdogInterval = 15 * time.Second
	resyncInterval   = 60 * time.Second
	// socketInterval is how often the path of a unix socket is looked at, which costs
	// one system call.
	socketInterval = time.Second
	// firstSince is how far back the first subscription reaches, so that a container
	// on its way out when the router starts is not taken for a steady one.
	firstSince = 10 * time.Second
)

// errReplaced ends a session whose socket is not the engine's any more.
var errReplaced = errors.New("the engine's socket was replaced by a new one")

// errSilentStream ends a session whose stream missed a change that a read found.
var errSilentStream = errors.New("the event stream is silent: a change was found that it did not announce")

// session is one connection to the engine, from subscribing to its end. Everything
// but the calls to the engine happens in run's goroutine.
type session struct {
	w     *watcher
	eng   engine
	queue *queue
	pace  pace

	synced bool
	// heardAtRead is how many events that matter had come when the last complete read began.
	heardAtRead uint64

	answers  chan answer
	reads    chan reading
	seatings chan seating
	failed   chan error

	reading, looking, lookAgain bool
	inFlight                    int
	asking                      map[string]bool // networks whose occupants are being asked for
	// sought are the networks that were looked for because a survey did not show them.
	sought map[string]bool
	// ended is why the stream ended while the first read was still running: that read
	// is worth finishing.
	ended error
	wg    sync.WaitGroup
}

func newSession(w *watcher, eng engine) *session {
	return &session{
		w: w, eng: eng, queue: newQueue(),
		answers: make(chan answer), reads: make(chan reading), seatings: make(chan seating), failed: make(chan error),
		sought: map[string]bool{}, asking: map[string]bool{},
	}
}

// run subscribes, reads everything and follows the events until the stream, the
// engine or ctx ends. It returns after its goroutines.
func (s *session) run(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer func() {
		cancel()
		s.wg.Wait()
		s.forgetFlights()
	}()
	stream, errs := s.eng.Events(ctx, s.subscribeFrom(time.Now()))
	s.wg.Go(func() { s.fail(ctx, s.queue.fill(stream, errs)) })
	s.wg.Go(func() { s.watchdog(ctx) })
	s.read(ctx, true)
	return s.loop(ctx)
}

// subscribeFrom is the engine's time from which events are asked for: the one after
// the last that was seen.
func (s *session) subscribeFrom(now time.Time) time.Time {
	if s.w.since.IsZero() {
		return now.Add(-firstSince)
	}
	return s.w.since.Add(time.Nanosecond)
}

// fail hands an error to the loop and waits until it is taken.
func (s *session) fail(ctx context.Context, err error) {
	if err == nil {
		err = errors.New("the event stream ended")
	}
	select {
	case s.failed <- err:
	case <-ctx.Done():
	}
}

func (s *session) loop(ctx context.Context) error {
	resync := time.NewTicker(resyncInterval)
	defer resync.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		if err := s.work(ctx, now); err != nil {
			return err
		}
		if s.ended != nil && s.synced {
			return s.ended
		}
		timer.Reset(s.untilNext(now))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		case <-s.queue.ready:
			s.takeEvents()
		case a := <-s.answers:
			s.takeAnswer(a)
		case a := <-s.seatings:
			s.takeSeating(a)
		case r := <-s.reads:
			if err := s.takeReading(r); err != nil {
				return err
			}
		case err := <-s.failed:
			if err = s.takeEnd(err); err != nil {
				return err
			}
		case <-resync.C:
			s.read(ctx, true)
		}
	}
}

// work launches inspects that are due and puts a snapshot when its time has come.
func (s *session) work(ctx context.Context, now time.Time) error {
	state := s.w.state
	for _, r := range state.due(now, parallelCalls-s.inFlight) {
		r.launch(now)
		s.inFlight++
		s.wg.Go(func() { s.inspect(ctx, r.id) })
	}
	for _, network := range state.takeSuspects(s.asking) {
		s.asking[network] = true
		s.wg.Go(func() { s.ask(ctx, network, now) })
	}
	if s.lookAgain {
		s.read(ctx, false)
	}
	if end := state.nextExpiry(); s.synced && !end.IsZero() && !end.After(now) {
		s.pace.settle(atOnce, now)
	}
	if at := s.deadline(); !at.IsZero() && !at.After(now) {
		return s.put(now)
	}
	return nil
}

// deadline is when the next snapshot goes out, zero when none is wanted. Before the
// first complete read ever there is nothing to say; later ones go on telling what
// leaves while everything is read again.
func (s *session) deadline() time.Time {
	if s.w.state.status.LastSync.IsZero() {
		return s.pace.syncDeadline(s.outstanding())
	}
	return s.pace.deadline(s.outstanding())
}

func (s *session) put(now time.Time) error {
	end := s.pace.syncDeadline(s.outstanding())
	complete := !end.IsZero() && !end.After(now)
	resync := s.synced && complete && !s.pace.announced
	if complete {
		s.w.state.connected(s.eng.Versions(), now)
		s.w.state.synced(now, s.degraded())
		s.w.resumed(now)
		s.synced = true
	}
	s.pace.done(complete)
	changed := s.w.put(s.w.frozen(now), complete)
	if _, heard := s.queue.latest(); changed && resync && heard == s.heardAtRead {
		return errSilentStream
	}
	return nil
}

// outstanding reports whether an announced container or network is still being read.
func (s *session) outstanding() bool {
	return s.reading || s.looking || s.w.state.pending()
}

// degraded is set when there will be no events at all: everything is then read again
// every few seconds.
func (s *session) degraded() error {
	if errors.Is(s.ended, errDenied) {
		return s.ended
	}
	return nil
}

// untilNext is how long nothing is to be done without news.
func (s *session) untilNext(now time.Time) time.Duration {
	wait := time.Hour
	earlier := func(at time.Time) {
		if !at.IsZero() {
			wait = min(wait, max(at.Sub(now), 0))
		}
	}
	if s.inFlight < parallelCalls {
		earlier(s.w.state.nextInspect())
	}
	if end := s.w.state.nextExpiry(); s.synced && end.After(now) { // one that is over is on its way out
		earlier(end)
	}
	earlier(s.deadline())
	return wait
}

func (s *session) takeEvents() {
	now := time.Now()
	for _, e := range s.queue.take() {
		s.pace.note(s.w.state.apply(e, now), now)
		if e.Type == "network" && e.Action == actionConnect {
			s.pace.hurry(now)
		}
	}
	if last, _ := s.queue.latest(); last.At.After(s.w.since) {
		s.w.since = last.At
	}
}

// takeEnd takes the end of the stream or of the watchdog's patience. It returns nil
// while a complete read is under way that may still succeed.
func (s *session) takeEnd(err error) error {
	s.takeEvents() // what came before the end still counts
	if !s.synced && s.ended == nil {
		s.ended = err
		return nil
	}
	if !s.pace.removal.IsZero() && !s.w.state.status.LastSync.IsZero() {
		s.w.put(s.w.frozen(time.Now()), false)
	}
	return err
}

func (s *session) inspect(ctx context.Context, id string) {
	info, err := s.eng.Inspect(ctx, id)
	select {
	case s.answers <- answer{id, info, err}:
	case <-ctx.Done():
	}
}

func (s *session) takeAnswer(a answer) {
	now := time.Now()
	s.inFlight--
	s.pace.settle(s.w.state.answered(a.id, a.info, a.err, now), now)
	if a.err != nil {
		return
	}
	if id := s.w.state.unknownNetwork(a.info); id != "" && !s.sought[id] || s.w.state.moved(a.info) {
		s.sought[id], s.lookAgain = true, true
	}
}

// ask asks for the occupants of a network.
func (s *session) ask(ctx context.Context, network string, now time.Time) {
	occupants, err := s.eng.Occupants(ctx, network)
	select {
	case s.seatings <- seating{network, occupants, now, err}:
	case <-ctx.Done():
	}
}

func (s *session) takeSeating(a seating) {
	delete(s.asking, a.network)
	state := s.w.state
	switch {
	case a.err == nil:
		now := time.Now()
		s.pace.settle(state.occupied(a, now), now)
		s.pace.hurry(now) // what is known of an end must not wait for anything now
	case errors.Is(a.err, errDenied):
		state.noOccupants = true
		s.pace.settle(soon, time.Now()) // the status says so
	default:
		s.w.log.Debug().Str("network", a.network).Err(a.err).Msg("the occupants of a network were not told")
	}
}

// watchdog asks for a sign of life: an idle stream sends nothing, and neither does a
// dead one. It also looks whether the path of the socket leads to another engine by now.
func (s *session) watchdog(ctx context.Context) {
	ping, socket := time.NewTicker(watchdogInterval), time.NewTicker(socketInterval)
	defer ping.Stop()
	defer socket.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-socket.C:
			if s.eng.Replaced() {
				err = errReplaced
			}
		case <-ping.C:
			if err = s.eng.Ping(ctx); err != nil {
				err = fmt.Errorf("no sign of life: %w", err)
			}
		}
		if err != nil && ctx.Err() == nil {
			s.fail(ctx, err)
			return
		}
	}
}

// forgetFlights takes back the marks of inspects that ended with the session.
func (s *session) forgetFlights() {
	for _, r := range s.w.state.records {
		if r.inFlight {
			r.inFlight, r.dirty = false, !r.removed
		}
	}
	s.w.log.Trace().Str(route.FieldCause, "session").Msg("session ended")
}
