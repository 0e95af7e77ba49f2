package dashboard

import "strings"

// aboutData is the page about the router and the signs of the other pages.
type aboutData struct {
	chrome
	Started  moment
	Legend   []legend
	Keys     []shortcut
	Settled  bool
	Checks   int
	HasTable bool
	Swap     uint64
}

// legend explains one mark.
type legend struct {
	Mark mark
	Text string
}

// shortcut is one key and what it does.
type shortcut struct{ Keys, Does string }

// List are the keys one by one.
func (s shortcut) List() []string { return strings.Fields(s.Keys) }

func (q *request) about() answer {
	data := aboutData{chrome: q.chrome(pageAbout, "About"), Started: momentOf(q.d.cfg.Started, q.now), Legend: theLegend(), Keys: shortcuts()}
	if q.view.Health != nil {
		data.Settled, data.Checks = q.view.Health.Settled, len(q.view.Health.Checks)
	}
	return q.found("about", data)
}

func theLegend() []legend {
	return []legend{
		{markOf("ok"), "every backend that should serve does"},
		{markOf("partial"), "it serves, and a backend of it is unhealthy"},
		{markOf("panic"), "no backend is verified; unverified ones get the requests, because that is better than nothing"},
		{markOf("down"), "an entrypoint: nothing serves; a backend: its probes fail"},
		{markOf("gated"), "Docker's HEALTHCHECK keeps the backend out"},
		{markOf("ejected"), "requests of clients failed on the backend, so it gets none for a while"},
		{markOf("trial"), "an ejected backend gets one request at a time, to see whether it works again"},
		{markOf("draining"), "a person took the backend out; what is in flight ends, and clients bound to it stay a while"},
		{markOf("maintenance"), "a person took the backend out at once; it is not probed either"},
		{markOf("open"), "so many requests failed that the entrypoint refuses all for a moment"},
		{fullMark(), "the backend has as many requests as maxConnections allows"},
		{flappingMark(), "it changed between serving and failing four times or more within ten minutes"},
		{warmingMark(), "the backend came back a moment ago and gets a growing part of its share (slowStart)"},
		{markOf("leaving"), "the container is stopping; what is in flight may end"},
		{markOf("pending"), "no verdict yet"},
		{markOf("unchecked"), "it is not probed and counts as healthy"},
		{markOf("stale"), "what is shown is what was last known"},
	}
}

func shortcuts() []shortcut {
	return []shortcut{
		{"/", "to the filter"},
		{"j k", "next and previous row"},
		{"Enter", "open the row"},
		{"n p", "next and previous page"},
		{"g o", "Overview"},
		{"g e", "Entrypoints"},
		{"g h", "Health"},
		{"g d", "Diagnostics"},
		{"g r", "Resolve"},
		{"g p", "Providers"},
		{"g a", "About"},
		{"c", "copy the diagnosis"},
		{"?", "these keys"},
		{"Esc", "leave a field or close a window"},
	}
}
