package route

import "time"

// LatencyBounds are the upper bounds of the latency buckets that metrics show, ascending;
// one more bucket takes what is slower. Dashboards of users build on them.
var LatencyBounds = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// countedBounds are the upper bounds of the buckets that requests are counted by: those
// of LatencyBounds and more between them, a fifth to a third apart, so that an estimate
// of a quantile is not far off.
var countedBounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond, 750 * time.Microsecond, time.Millisecond,
	1250 * time.Microsecond, 1500 * time.Microsecond, 2 * time.Millisecond, 2500 * time.Microsecond, 3 * time.Millisecond,
	4 * time.Millisecond, 5 * time.Millisecond, 6500 * time.Microsecond, 8 * time.Millisecond, 10 * time.Millisecond,
	12500 * time.Microsecond, 15 * time.Millisecond, 20 * time.Millisecond, 25 * time.Millisecond, 30 * time.Millisecond,
	40 * time.Millisecond, 50 * time.Millisecond, 65 * time.Millisecond, 80 * time.Millisecond, 100 * time.Millisecond,
	125 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond, 250 * time.Millisecond, 300 * time.Millisecond,
	400 * time.Millisecond, 500 * time.Millisecond, 650 * time.Millisecond, 800 * time.Millisecond, time.Second,
	1250 * time.Millisecond, 1500 * time.Millisecond, 2 * time.Second, 2500 * time.Millisecond, 3 * time.Second,
	4 * time.Second, 5 * time.Second, 6500 * time.Millisecond, 8 * time.Second, 10 * time.Second,
}

// LatencyBuckets is the number of buckets that requests are counted by.
const LatencyBuckets = len(countedBounds) + 1

// bucketOf is the first bucket whose bound is not below took.
func bucketOf(took time.Duration) int {
	low, high := 0, len(countedBounds)
	for low < high {
		if middle := (low + high) / 2; countedBounds[middle] < took {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Histogram is how many requests each bucket of LatencyBounds has, and the one beyond.
// It is not cumulative.
func (c *TrafficCounts) Histogram() [len(LatencyBounds) + 1]uint64 {
	var out [len(LatencyBounds) + 1]uint64
	i := 0
	for j, n := range c.Buckets {
		if j == len(countedBounds) || countedBounds[j] > LatencyBounds[i] {
			i++
		}
		out[i] += n
	}
	return out
}

// Quantile estimates the latency below which the share q (0 to 1) of the requests
// stayed, by interpolation within a bucket; 0 without requests. It is not above slowest,
// the latency of the slowest one; 0 is not known, and then it is the last bound for
// those beyond it.
func (c *TrafficCounts) Quantile(q float64, slowest time.Duration) time.Duration {
	var total uint64
	for _, n := range c.Buckets {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank := min(max(q, 0), 1) * float64(total)
	var below float64
	var low time.Duration
	for i, count := range c.Buckets {
		n := float64(count)
		if n > 0 && below+n >= rank {
			return low + time.Duration((rank-below)/n*float64(highest(i, slowest)-low))
		}
		below += n
		if i < len(countedBounds) {
			low = countedBounds[i]
		}
	}
	return low
}

// highest is the highest latency that a request of a bucket may have had, where the
// slowest of all had the one that is given, 0 when it is not known.
func highest(bucket int, slowest time.Duration) time.Duration {
	if bucket == len(countedBounds) {
		return max(slowest, countedBounds[bucket-1])
	}
	bound := countedBounds[bucket]
	if slowest <= 0 || slowest >= bound {
		return bound
	}
	if bucket == 0 {
		return slowest
	}
	// A slower one was counted as it was read: then only the bucket is known.
	return max(slowest, countedBounds[bucket-1])
}
