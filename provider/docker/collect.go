package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fairlead/router/route"
)

// maxRounds bounds how often Collect goes back for containers that others refer to.
const maxRounds = 4

// Collect reads the engine once and returns what a start would find, for offline
// answers and validation. It connects on its own and leaves nothing behind.
func (p *Provider) Collect(ctx context.Context) (route.Snapshot, error) {
	s, err := p.collect(ctx)
	if known, ok := errors.AsType[*EngineError](err); ok {
		told := *known
		told.Hint, told.cause = p.cfg.neverRead(known.Hint), err
		return s, &told
	}
	return s, err
}

func (p *Provider) collect(ctx context.Context) (route.Snapshot, error) {
	eng, err := p.connect(ctx)
	if err != nil {
		return route.Snapshot{}, err
	}
	defer eng.Close()
	s := newState(p.cfg)
	s.connected(eng.Versions(), time.Now())
	v, err := look(ctx, eng, p.self)
	if err != nil {
		return route.Snapshot{}, err
	}
	s.surveyedAs(v)
	list, err := eng.List(ctx)
	if err != nil {
		return route.Snapshot{}, fmt.Errorf("listing the containers: %w", err)
	}
	s.listed(list)
	for range maxRounds {
		if err := s.inspectDue(ctx, eng); err != nil {
			return route.Snapshot{}, err
		}
	}
	s.synced(time.Now(), nil)
	return s.snapshot(time.Now()), nil
}

// answer is the result of one inspect.
type answer struct {
	id   string
	info inspected
	err  error
}

// inspectDue asks about every container that is dirty and waits for all answers.
func (s *state) inspectDue(ctx context.Context, eng engine) error {
	var ids []string
	now := time.Now()
	for _, r := range s.records {
		if r.dirty {
			r.launch(now)
			ids = append(ids, r.id)
		}
	}
	answers := make([]answer, len(ids))
	slots := make(chan struct{}, parallelCalls)
	var wg sync.WaitGroup
	for i, id := range ids {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			info, err := eng.Inspect(ctx, id)
			answers[i] = answer{id, info, err}
		})
	}
	wg.Wait()
	for _, a := range answers {
		if a.err != nil && !errors.Is(a.err, errNotFound) && ctx.Err() != nil {
			return ctx.Err()
		}
		s.answered(a.id, a.info, a.err, time.Now())
	}
	return nil
}
