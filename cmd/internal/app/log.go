package app

import (
	"io"
	"time"

	"github.com/rs/zerolog"

	"fairlead/cmd/internal/config"
)

// Logs makes the loggers of the components. The zero value logs nothing.
type Logs struct {
	w        io.Writer
	settings config.Log
}

// timeFormat has milliseconds: transitions of one second must keep their order.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// NewLogs returns the loggers that write to w as the settings say. terminal tells
// whether w is one, colour whether colours are welcome there.
func NewLogs(w io.Writer, s config.Log, terminal, colour bool) Logs {
	if s.Format == "console" || s.Format == "auto" && terminal {
		w = zerolog.ConsoleWriter{Out: w, NoColor: !colour, TimeFormat: "15:04:05.000"}
	}
	return Logs{w: zerolog.SyncWriter(w), settings: s}
}

// For returns the logger of a component, with its own level if it has one.
func (l Logs) For(component string) zerolog.Logger {
	if l.w == nil {
		return zerolog.Nop()
	}
	text := l.settings.Level
	if own, ok := l.settings.Levels[component]; ok {
		text = own
	}
	if text == "off" {
		return zerolog.Nop()
	}
	level, err := zerolog.ParseLevel(text)
	if err != nil || text == "" {
		level = zerolog.InfoLevel
	}
	return zerolog.New(l.w).Level(level).Hook(stamp{}).With().Str("component", component).Logger()
}

// stamp writes the time. zerolog's own timestamp has a format that is a package
// variable for the whole process.
type stamp struct{}

// Run implements zerolog.Hook.
func (stamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().Format(timeFormat))
}
