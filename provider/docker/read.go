package docker

import (
	"context"
	"fmt"
	"time"
)

// reading is the result of a complete read, or of a look at the surroundings alone.
type reading struct {
	survey survey
	full   bool
	list   []summary
	err    error
}

// read starts a complete read (full), or a look at the surroundings, unless one runs.
func (s *session) read(ctx context.Context, full bool) {
	if s.reading || !full && s.looking {
		return // what runs will tell, or the next resync
	}
	s.reading, s.looking = full, s.looking || !full
	_, s.heardAtRead = s.queue.latest()
	s.lookAgain = false
	s.wg.Go(func() {
		var r reading
		r.full = full
		if r.survey, r.err = look(ctx, s.eng, s.w.provider.self); r.err == nil && full {
			r.list, r.err = s.eng.List(ctx)
		}
		select {
		case s.reads <- r:
		case <-ctx.Done():
		}
	})
}

// takeReading takes what was read. An error ends the session: a list that failed says
// nothing about the containers.
func (s *session) takeReading(r reading) error {
	if r.full {
		s.reading = false
	} else {
		s.looking = false
	}
	if r.err != nil {
		return fmt.Errorf("reading the engine: %w", r.err)
	}
	now := time.Now()
	s.w.state.surveyedAs(r.survey)
	if !r.full {
		s.pace.settle(soon, now)
		return nil
	}
	if !s.synced && s.w.away() {
		s.w.state.extend(now.Sub(s.w.lostAt))
		s.w.lostAt = now
	}
	s.w.state.listed(r.list)
	s.pace.sync = now
	return nil
}
