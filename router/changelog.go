package router

import (
	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// quietAbove is how many changes of one swap get a line each; more are counted in
// one line and listed at debug level.
const quietAbove = 20

// log writes what a swap changed: one line per route.
func (c *Controller) log(before, after *Table, diff changes) {
	level := zerolog.InfoLevel
	if total := len(diff.added) + len(diff.changed) + len(diff.removed); total > quietAbove {
		level = zerolog.DebugLevel
		c.cfg.Log.Info().Uint64(route.FieldGeneration, after.generation).Int("added", len(diff.added)).
			Int("changed", len(diff.changed)).Int("removed", len(diff.removed)).Msg("routes changed")
	}
	for _, part := range []struct {
		routes []*live
		msg    string
	}{{diff.added, "route added"}, {diff.changed, "route changed"}, {diff.removed, "route removed"}} {
		for _, l := range part.routes {
			e := l.entry.Entrypoint
			c.cfg.Log.WithLevel(level).Str(route.FieldEntrypoint, e.ID).Str(route.FieldProvider, e.Source).
				Int("backends", len(e.Backends)).Uint64(route.FieldGeneration, after.generation).Msg(part.msg)
		}
	}
	c.logTrouble(before, after, diff)
}

// logTrouble warns of what began with this swap: shadows and unusable backends.
func (c *Controller) logTrouble(before, after *Table, diff changes) {
	for r := range after.Routes() {
		id := r.Entrypoint.ID
		if by := after.ShadowedBy(id); by != "" && before.ShadowedBy(id) != by {
			c.cfg.Log.Warn().Str(route.FieldEntrypoint, id).Str(route.FieldCode, "W018").Str("shadowed_by", by).
				Str(route.FieldHint, shadowHint).Uint64(route.FieldGeneration, after.generation).Msg("route shadowed")
		}
	}
	for _, list := range [][]*live{diff.added, diff.changed} {
		for _, l := range list {
			for _, d := range l.failures {
				c.cfg.Log.Warn().Str(route.FieldEntrypoint, l.entry.Entrypoint.ID).Str(route.FieldCode, d.Code).
					Str(route.FieldMessage, d.Message).Str(route.FieldHint, d.Hint).Msg("backend not used")
			}
		}
	}
}
