package app

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/rs/zerolog"
)

// crew runs the parts of the router and notes how they end.
type crew struct {
	log    zerolog.Logger
	broken chan struct{} // capacity 1: a part ended that should not have
	wg     sync.WaitGroup

	mu   sync.Mutex
	errs []error
}

func newCrew(log zerolog.Logger) *crew { return &crew{log: log, broken: make(chan struct{}, 1)} }

// start runs one part. A part that ends before its context does, or panics, breaks
// the crew: the router stops rather than go on with a part missing.
func (c *crew) start(ctx context.Context, name string, run func(context.Context) error) {
	c.wg.Go(func() {
		err := c.guarded(ctx, name, run)
		early := ctx.Err() == nil
		if early && err == nil {
			err = errors.New("it ended by itself")
		}
		if err == nil {
			return
		}
		c.mu.Lock()
		c.errs = append(c.errs, fmt.Errorf("%s: %w", name, err))
		c.mu.Unlock()
		if early {
			select {
			case c.broken <- struct{}{}:
			default:
			}
		}
	})
}

// guarded turns a panic into an error that names the part. The panic's value is shown
// only when it is the runtime's own: others may hold anything.
func (c *crew) guarded(ctx context.Context, name string, run func(context.Context) error) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		what := fmt.Sprintf("%T", v)
		var own runtime.Error
		if e, ok := v.(error); ok && errors.As(e, &own) {
			what = own.Error()
		}
		c.log.Error().Str("part", name).Str("panic", what).Bytes("stack", debug.Stack()).Msg("a part of the router panicked; stopping")
		err = fmt.Errorf("panic: %s", what)
	}()
	return run(ctx)
}

// wait returns after all parts, with what went wrong.
func (c *crew) wait() error {
	c.wg.Wait()
	return errors.Join(c.errs...)
}
