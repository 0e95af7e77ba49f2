package metrics

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"fairlead/router/route"
)

// kind is how the value of a family is written.
type kind uint8

const (
	counter kind = iota
	gauge
	other // histogram, summary
)

func kindOf(name string) kind {
	switch name {
	case "counter":
		return counter
	case "gauge":
		return gauge
	}
	return other
}

// pairs are the labels of one series, sorted by name. They are shared between series
// and never changed.
type pairs []*dto.LabelPair

func pair(name, value string) *dto.LabelPair {
	value = bounded(value)
	return &dto.LabelPair{Name: &name, Value: &value}
}

// with adds a label.
func (p pairs) with(name, value string) pairs { return p.add(pair(name, value)) }

func (p pairs) add(one *dto.LabelPair) pairs {
	at, _ := slices.BinarySearchFunc(p, *one.Name, func(have *dto.LabelPair, name string) int { return strings.Compare(*have.Name, name) })
	return slices.Insert(slices.Clip(p), at, one)
}

// maxValue bounds a label value, in bytes.
const maxValue = 128

// bounded makes a name that a stranger chose a label value: valid UTF-8 of bounded
// length. What is changed gets a hash, so that two names stay two.
func bounded(s string) string {
	if len(s) <= maxValue && utf8.ValidString(s) {
		return s
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // never fails
	tail := fmt.Sprintf("~%016x", h.Sum64())
	s = strings.ToValidUTF8(s, "\uFFFD")
	end := min(len(s), maxValue-len(tail))
	for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + tail
}

// classNames are the values of the label class, in the order of the counters.
func classNames() [route.StatusClasses]string {
	return [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}
}

// emitter sends series to a scrape.
type emitter struct {
	c   *Collector
	out chan<- prometheus.Metric
}

func (e emitter) put(f family, value float64, labels pairs) {
	e.out <- &sample{desc: e.c.descs[f], kind: e.c.kinds[f], labels: labels, value: value}
}

// classes sends one counter for each class.
func (e emitter) classes(f family, counts *[route.StatusClasses]uint64, labels pairs) {
	for i, name := range classNames() {
		e.put(f, float64(counts[i]), labels.with("class", name))
	}
}

// sample is one counter or gauge. It is lighter than a constant metric of client_golang,
// which checks and sorts its labels again.
type sample struct {
	desc   *prometheus.Desc
	kind   kind
	labels pairs
	value  float64
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.labels
	if s.kind == counter {
		out.Counter = &dto.Counter{Value: &s.value}
		return nil
	}
	out.Gauge = &dto.Gauge{Value: &s.value}
	return nil
}

// histogram shows the latency buckets of one entrypoint.
type histogram struct {
	desc   *prometheus.Desc
	labels pairs
	counts route.TrafficCounts
}

// Desc implements prometheus.Metric.
func (h *histogram) Desc() *prometheus.Desc { return h.desc }

// Write implements prometheus.Metric. The number of requests is that of the buckets,
// so that the two agree although the counters are read one by one.
func (h *histogram) Write(out *dto.Metric) error {
	buckets := make([]*dto.Bucket, len(route.LatencyBounds))
	room := make([]struct {
		bucket dto.Bucket
		count  uint64
		bound  float64
	}, len(buckets))
	counts := h.counts.Histogram()
	var total uint64
	for i, bound := range route.LatencyBounds {
		total += counts[i]
		r := &room[i]
		r.count, r.bound = total, bound.Seconds()
		r.bucket.CumulativeCount, r.bucket.UpperBound = &r.count, &r.bound
		buckets[i] = &r.bucket
	}
	total += counts[len(route.LatencyBounds)]
	sum := h.counts.Sum.Seconds()
	out.Label, out.Histogram = h.labels, &dto.Histogram{SampleCount: &total, SampleSum: &sum, Bucket: buckets}
	return nil
}

// summary is a sum and a number of durations.
type summary struct {
	desc  *prometheus.Desc
	count uint64
	sum   float64
}

// Desc implements prometheus.Metric.
func (s *summary) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *summary) Write(out *dto.Metric) error {
	out.Summary = &dto.Summary{SampleCount: &s.count, SampleSum: &s.sum}
	return nil
}
