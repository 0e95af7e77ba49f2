package dashboard

import (
	"math"
	"strconv"
	"strings"
	"time"

	"fairlead/api"
)

// chart is one small picture of traffic, with a table that says the same.
type chart struct {
	ID    string
	Title string
	Now   string // the value of the last minute, "" without one
	Level string // of that value
	Max   string // what the top of the picture stands for
	Lines []line
	From  string
	To    string
	Heads []string
	Rows  []chartRow
	Words string // the picture in one sentence
}

// line is one curve; Kind names its style.
type line struct {
	Kind, Label, Path string
}

// chartRow is one line of the table.
type chartRow struct {
	Clock  string
	Values []string
}

// Size of the picture in its own units; it is stretched to the place it gets.
const (
	chartWidth  = 600
	chartHeight = 100
	mostRows    = 12
	headroom    = 1.15 // above the highest value, for the number that stands there
)

// charts are request rate, error share and latency.
func charts(points []api.TrafficPoint, now figures) []chart {
	if len(points) == 0 {
		return nil
	}
	return []chart{rateChart(points, now), errorChart(points, now), latencyChart(points, now)}
}

func rateChart(points []api.TrafficPoint, now figures) chart {
	c := newChart("requests", "Requests per second", points)
	values := make([]float64, len(points))
	for i := range points {
		values[i] = points[i].Rate()
	}
	top := roundUp(highest(values) * headroom)
	c.Max, c.Now = rateText(top), now.Rate
	c.Lines = []line{
		{"area", "", area(values, top)},
		{"line", "requests", curve(values, top)},
	}
	c.Heads = []string{"requests per second"}
	c.rows(points, func(i int) []string { return []string{rateText(values[i])} })
	c.Words = "In the last minute " + c.Now + " requests per second; the highest was " + rateText(highest(values)) + "."
	return c
}

func errorChart(points []api.TrafficPoint, now figures) chart {
	c := newChart("errors", "Errors", points)
	values := make([]float64, len(points))
	for i := range points {
		values[i] = points[i].ErrorRatio()
	}
	top := min(max(roundUp(highest(values)*100*headroom)/100, 0.01), 1)
	c.Max, c.Now, c.Level = shareText(top), now.Share, now.Level
	c.Lines = []line{{"bars", "errors", bars(values, top)}}
	c.Heads = []string{"share of requests that failed"}
	c.rows(points, func(i int) []string { return []string{shareText(values[i])} })
	c.Words = "In the last minute " + c.Now + " of the requests failed; the highest was " + shareText(highest(values)) + "."
	return c
}

func latencyChart(points []api.TrafficPoint, now figures) chart {
	c := newChart("latency", "Latency", points)
	half, most := make([]float64, len(points)), make([]float64, len(points))
	for i := range points {
		half[i], most[i] = math.NaN(), math.NaN()
		if p := &points[i]; p.Requests > 0 {
			half[i], most[i] = p.P50.Seconds(), p.P99.Seconds()
		}
	}
	top := roundUp(highest(most)*1000*headroom) / 1000
	c.Max = msText(time.Duration(top * float64(time.Second)))
	c.Words = "No request in the last minute."
	if now.Any {
		c.Now = now.P50 + " / " + now.P99
		c.Words = "In the last minute half of the answers came within " + now.P50 + ", 99 of 100 within " + now.P99 + "."
	}
	c.Lines = []line{{"line", "p50", curve(half, top)}, {"dash", "p99", curve(most, top)}}
	c.Heads = []string{"p50", "p99"}
	c.rows(points, func(i int) []string {
		if points[i].Requests == 0 {
			return []string{"–", "–"}
		}
		return []string{msText(points[i].P50), msText(points[i].P99)}
	})
	return c
}

func newChart(id, title string, points []api.TrafficPoint) chart {
	first, last := &points[0], &points[len(points)-1]
	return chart{
		ID: id, Title: title, Level: levelCalm,
		From: first.At.Add(-first.Step).UTC().Format("15:04"), To: last.At.UTC().Format("15:04 UTC"),
	}
}

// rows takes points at even distances, the latest among them.
func (c *chart) rows(points []api.TrafficPoint, values func(int) []string) {
	step := max((len(points)+mostRows-1)/mostRows, 1)
	for i := (len(points) - 1) % step; i < len(points); i += step {
		c.Rows = append(c.Rows, chartRow{points[i].At.UTC().Format("15:04:05"), values(i)})
	}
}

func highest(values []float64) float64 {
	top := 0.0
	for _, v := range values {
		if v > top { // false for what is not a number
			top = v
		}
	}
	return top
}

// roundUp is the next round number, so that an axis has a number that people
// can read; 1 for nothing.
func roundUp(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
		if v <= step*unit*(1+1e-9) {
			return step * unit
		}
	}
	return 10 * unit
}

// curve joins the values from left to right; what is not a number is a gap.
func curve(values []float64, top float64) string {
	var b strings.Builder
	down := false
	for i, v := range values {
		if math.IsNaN(v) {
			down = false
			continue
		}
		letter := byte('L')
		if !down {
			letter, down = 'M', true
		}
		b.WriteByte(letter)
		point(&b, place(i, len(values)), chartHeight*(1-v/top))
		if rest := values[i+1:]; letter == 'M' && (len(rest) == 0 || math.IsNaN(rest[0])) {
			b.WriteString("h1") // a point alone
		}
	}
	return b.String()
}

// area is the curve with the ground below it.
func area(values []float64, top float64) string {
	var b strings.Builder
	b.WriteString("M0 " + strconv.Itoa(chartHeight))
	for i, v := range values {
		b.WriteByte('L')
		point(&b, place(i, len(values)), chartHeight*(1-v/top))
	}
	b.WriteByte('L')
	point(&b, place(len(values)-1, len(values)), chartHeight)
	b.WriteByte('Z')
	return b.String()
}

// bars stand for the values that are more than nothing.
func bars(values []float64, top float64) string {
	var b strings.Builder
	width := float64(chartWidth) / float64(len(values))
	for i, v := range values {
		if v <= 0 {
			continue
		}
		high := max(chartHeight*min(v/top, 1), 2)
		b.WriteByte('M')
		point(&b, float64(i)*width, chartHeight)
		b.WriteString("v-" + fixed(high) + "h" + fixed(width*0.8) + "V" + strconv.Itoa(chartHeight) + "Z")
	}
	return b.String()
}

func place(i, n int) float64 {
	if n < 2 {
		return 0
	}
	return chartWidth * float64(i) / float64(n-1)
}

func point(b *strings.Builder, x, y float64) { b.WriteString(fixed(x) + " " + fixed(y)) }

func fixed(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
