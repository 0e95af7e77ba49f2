package app

import (
	"context"
	"strings"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// takeOver listens on a reserved address as soon as this router knows as much as the other
// process may, or that one is gone. Without a listener afterwards ctx has ended, or the
// error says why.
func (a *App) takeOver(ctx context.Context, d *door) error {
	a.log.Info().Str("http", d.address()).
		Msg("another process listens on the address: it goes on serving until this one is ready")
	n, alone, told := 0, false, ""
	a.hold(ctx, 0, func() bool {
		if n++; n%occupiedEach == 0 {
			alone = !d.reserved.occupied()
		}
		if alone {
			return true
		}
		v := a.controller.View()
		told = a.tellUnread(v, told)
		return len(api.Unread(v)) == 0 && api.Initialized(v)
	})
	select {
	case <-ctx.Done():
		d.reserved.close()
		return nil
	default:
	}
	listener, steered, err := d.reserved.listen(!alone)
	if err != nil {
		return &BindError{What: "HTTP", Address: d.address(), Fix: shareFix(err, d.address()), Err: err}
	}
	d.listener = listener
	if alone {
		a.log.Info().Str("http", d.address()).Msg("the other process is gone: listening")
		a.hold(ctx, holdFirst, a.synced)
		return nil
	}
	a.log.Info().Str("http", d.address()).Bool("steered", steered).
		Msg("ready and listening beside the other process, which can be stopped now")
	return nil
}

// tellUnread logs the providers that could not be read, for which the hand-over waits
// without an end: the other process may serve routes of theirs. told are those of the
// line before; it returns those of now.
func (a *App) tellUnread(v *router.View, told string) string {
	var failed []string
	for i := range v.Providers {
		s := &v.Providers[i]
		if !s.Enabled || s.Phase != route.PhaseFailed {
			continue
		}
		failed = append(failed, s.Name)
		if !strings.Contains(told, s.Name) {
			a.log.Warn().Str(route.FieldProvider, s.Name).Str(route.FieldReason, s.LastError).Str(route.FieldHint, unreadFix(s.Hint)).
				Msg("not taking over: a provider was never read, and the other process goes on serving")
		}
	}
	return strings.Join(failed, ",")
}

// unreadFix adds to a provider's own hint what else ends the wait.
func unreadFix(hint string) string {
	const end = "this router takes over when the provider was read, or when the other process ends"
	if hint == "" {
		return end
	}
	return hint + "; " + end
}
