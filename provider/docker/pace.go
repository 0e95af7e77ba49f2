package docker

import "time"

// Pacing of snapshots.
const (
	// quietTime is how long nothing may be announced before additions go out.
	quietTime = 100 * time.Millisecond
	// longestWait bounds the collecting of additions.
	longestWait = time.Second
	// answerWait bounds how long additions wait, after the quiet time, for containers that
	// the engine is slow to describe: what is known goes out, the slow ones follow.
	answerWait = 50 * time.Millisecond
	// removalWait bounds how long a removal waits for additions already announced.
	removalWait = 20 * time.Millisecond
	// firstSyncWait bounds how long the first snapshot waits for containers that the
	// engine is slow to describe.
	firstSyncWait = 10 * time.Second
)

// pace decides when a snapshot goes out. The zero value wants none.
type pace struct {
	first, last time.Time // of the additions collected now
	removal     time.Time // of the oldest removal not yet put
	sync        time.Time // start of a complete read that is not yet put
	// announced is set when the stream spoke of what is collected.
	announced bool
}

// note takes the urgency of an event or an answer.
func (p *pace) note(level urgency, now time.Time) {
	switch level {
	case idle:
		return
	case soon:
		if p.first.IsZero() {
			p.first = now
		}
		p.last = now
	case atOnce, immediately:
		p.remove(now)
	}
	p.announced = true
}

// settle notes an answer: it neither extends the quiet time nor, when nothing is
// collected, waits for one.
func (p *pace) settle(level urgency, now time.Time) {
	if level == soon && p.first.IsZero() {
		p.first, p.last = now.Add(-quietTime), now.Add(-quietTime)
	}
	switch level {
	case atOnce:
		p.remove(now)
	case immediately:
		p.remove(now.Add(-removalWait))
	case idle, soon:
	}
}

// remove notes a removal that has waited since then.
func (p *pace) remove(since time.Time) {
	if p.removal.IsZero() || since.Before(p.removal) {
		p.removal = since
	}
}

// hurry lets a removal that waits for additions go out now: addresses are being given out.
func (p *pace) hurry(now time.Time) {
	if !p.removal.IsZero() {
		p.remove(now.Add(-removalWait))
	}
}

// deadline is when a snapshot goes out, given whether inspects are outstanding; zero
// when none is wanted.
func (p *pace) deadline(pending bool) time.Time {
	var at time.Time
	earlier := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if !p.removal.IsZero() {
		if pending {
			earlier(p.removal.Add(removalWait))
		} else {
			earlier(p.removal)
		}
	}
	if !p.first.IsZero() {
		quiet := p.last.Add(quietTime)
		if pending {
			quiet = quiet.Add(answerWait)
		}
		earlier(quiet)
		earlier(p.first.Add(longestWait))
	}
	if sync := p.syncDeadline(pending); !sync.IsZero() {
		earlier(sync)
	}
	return at
}

// syncDeadline is when a complete read goes out, zero without one.
func (p *pace) syncDeadline(pending bool) time.Time {
	if pending && !p.sync.IsZero() {
		return p.sync.Add(firstSyncWait)
	}
	return p.sync
}

// done notes that a snapshot went out; complete when it ended a complete read.
func (p *pace) done(complete bool) {
	sync := p.sync
	*p = pace{}
	if !complete {
		p.sync = sync
	}
}
