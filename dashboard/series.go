package dashboard

import (
	"fairlead/api"
	"fairlead/router/route"
)

// Series gives traffic over time, as api.TrafficRecorder does. It is safe for concurrent
// use.
type Series interface {
	// Total are the steps of all entrypoints together, Entrypoint those of one; nil
	// without traffic.
	Total() []api.TrafficPoint
	Entrypoint(id string) []api.TrafficPoint
	TotalMinute() api.TrafficMinute
	EntrypointMinute(id string) api.TrafficMinute
	BackendMinute(id string, load *route.Load) api.TrafficMinute
}

// figures are the traffic of the last minute as pages show it.
type figures struct {
	// Known is set when traffic is recorded at all, Any when there was some.
	Known, Any bool
	Rate       string // per second
	Share      string // of errors
	Level      string // of the errors
	P50, P99   string
	Requests   int
	Abandoned  int // contacts of a backend that say nothing about it
	Failed     int
	// Mostly is set when most requests failed.
	Mostly bool
}

func figuresOf(m api.TrafficMinute) figures {
	f := figures{
		Known: m.Span > 0, Any: m.Requests > 0, Rate: rateText(m.Rate()), Share: shareText(m.ErrorRatio()),
		Level: levelCalm, P50: msText(m.P50), P99: msText(m.P99), Requests: int(m.Requests), Abandoned: int(m.Abandoned),
		Failed: int(m.Errors), Mostly: m.Requests > 0 && m.ErrorRatio() >= mostlyError,
	}
	if m.Requests > 0 && m.Judged() == 0 {
		f.Share = "" // nothing has shown whether it fails
	}
	switch {
	case m.ErrorRatio() >= muchError:
		f.Level = levelAlarm
	case m.Errors > 0:
		f.Level = levelWatch
	}
	return f
}

// Shares of errors: one that is shown as an alarm, and one that is nearly an outage.
const (
	muchError   = 0.05
	mostlyError = 0.5
)

// failing says how many requests failed, "" while few did.
func (f *figures) failing() string {
	if f.Level != levelAlarm {
		return ""
	}
	return grouped(f.Failed) + " of " + countOf(f.Requests-f.Abandoned, "request") + " failed in the last minute"
}

func (q *request) totalFigures() figures {
	if q.d.cfg.Series == nil {
		return figures{}
	}
	return figuresOf(q.d.cfg.Series.TotalMinute())
}

func (q *request) figuresOf(id string) figures {
	if q.d.cfg.Series == nil {
		return figures{}
	}
	return figuresOf(q.d.cfg.Series.EntrypointMinute(id))
}

func (q *request) backendFigures(id string, load *route.Load) figures {
	if q.d.cfg.Series == nil || load == nil {
		return figures{}
	}
	return figuresOf(q.d.cfg.Series.BackendMinute(id, load))
}

func (q *request) totalCharts() []chart {
	if q.d.cfg.Series == nil {
		return nil
	}
	return charts(q.d.cfg.Series.Total(), q.totalFigures())
}

func (q *request) chartsOf(id string) []chart {
	if q.d.cfg.Series == nil {
		return nil
	}
	return charts(q.d.cfg.Series.Entrypoint(id), q.figuresOf(id))
}
