// Package metrics shows the router to Prometheus. Nothing is counted here: a scrape
// reads the current view and the counters that the data plane keeps anyway, so that
// requests pay nothing, and series vanish with their entrypoint or backend.
//
// Label values are names that containers chose: they are made valid UTF-8 and bounded.
// No header, query or label value is in any series.
package metrics
