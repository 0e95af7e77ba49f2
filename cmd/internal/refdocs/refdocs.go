// Package refdocs generates the reference pages of docs/reference from the tables
// that the program itself runs on. A test holds the pages current.
package refdocs

import (
	"fmt"
	"strconv"
	"strings"

	"fairlead/api/metrics"
	"fairlead/cmd/internal/config"
	"fairlead/provider/label"
	"fairlead/router/route"
)

const generated = "<!-- Generated: go test ./cmd/internal/refdocs -update -->\n\n"

// Labels is the label reference.
func Labels() string {
	var b strings.Builder
	b.WriteString(generated + "# Labels\n\n" + `    <prefix>.enable = true|false
    <prefix>.network = <docker network>
    <prefix>.<protocol>.<service>.<key> = <value>

The prefix is ` + "`sozune`" + ` unless ` + "`labels.prefix`" + ` says otherwise. Keys match without case. Containers that declare the same
protocol, service and matchers are backends of one entrypoint, ` + "`<protocol>_<service>`" + `. A bad value harms only its own route:
the fallback and the fix are in ` + "`GET /diagnostics`" + ` and ` + "`fairlead validate`" + `.

**Belongs to**: *backend* keys are each container's own; *entrypoint* keys are decided by the newest container of the
route's own compose project and service; *matcher* keys make two declarations different entrypoints.
`)
	for _, a := range []struct {
		availability label.Availability
		title, text  string
	}{
		{label.Working, "Working", ""},
		{label.Protecting, "Protecting, not in this version", "A route with one of these answers 503 (E113) rather than stand open.\n"},
		{label.Later, "Known, not in this version", "Accepted without an effect and reported with I104.\n"},
	} {
		b.WriteString("\n## " + a.title + "\n\n" + a.text)
		if a.text != "" {
			b.WriteString("\n")
		}
		b.WriteString("| Key | Protocol | Value | Default | Bad value | Belongs to | Meaning |\n|---|---|---|---|---|---|---|\n")
		for _, k := range label.Keys() {
			if k.Available == a.availability {
				b.WriteString(labelRow(k))
			}
		}
	}
	return b.String()
}

func labelRow(k label.Key) string {
	protocols := make([]string, 0, len(k.Protocols))
	for _, p := range k.Protocols {
		protocols = append(protocols, string(p))
	}
	meaning := k.Meaning
	if k.Secret {
		meaning += "; the value is never shown"
	}
	return row("`"+k.Name+"`", strings.Join(protocols, ", "), k.Accepts, k.Default, k.BadValue, string(k.Level), meaning)
}

// Diagnostics is the reference of codes.
func Diagnostics() string {
	var b strings.Builder
	b.WriteString(generated + "# Diagnostics\n\nE: not routed, or closed. W: a stated fallback. I: worth knowing. " +
		"`fairlead explain CODE` prints the same.\n")
	for _, e := range label.Explanations() {
		fmt.Fprintf(&b, "\n## %s %s\n\n- **Cause:** %s\n- **Effect:** %s\n- **Fix:** %s\n", e.Code, e.Title, e.Cause, e.Effect, e.Fix)
		if e.Example != "" {
			b.WriteString("\n")
			for line := range strings.Lines(e.Example) {
				b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
			}
		}
	}
	return b.String()
}

// Configuration is the reference of settings.
func Configuration() string {
	var b strings.Builder
	b.WriteString(generated + "# Configuration\n\nNo file is needed. Order: flag, environment, file, default. The file is the one of " +
		"`--config`, else of `CONFIG_PATH`, else `./fairlead.yaml`, else `/etc/fairlead/fairlead.yaml`. Unknown keys and wrong " +
		"values are refused with line and column.\n\n| Key | Environment | Type | Default | Meaning |\n|---|---|---|---|---|\n")
	for _, k := range config.Keys() {
		kind := k.Type
		if k.Range != "" {
			kind += ", " + k.Range
		}
		b.WriteString(row("`"+k.Path+"`", "`"+k.Env+"`", kind, k.Default, k.Doc))
	}
	return b.String()
}

// row is one row of a Markdown table.
func row(cells ...string) string {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ")
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// Metrics is the reference of what Prometheus scrapes.
func Metrics() string {
	var b strings.Builder
	b.WriteString(generated + "# Metrics\n\n`GET /metrics` of the admin listener, behind its guards, or of a listener of its own " +
		"(`metrics.listen`). Those of the Go runtime (`go_*`) and of the process (`process_*`) are there, too.\n\n" +
		"Series vanish with their entrypoint or backend. `entrypoint` is the id of `GET /entrypoints`, `backend` that of the backend " +
		"in it: 12 digits of the container, or host:port. Names longer than 128 bytes are cut and end in a hash. " +
		"Buckets of latency: " + latencyBounds() + " s.\n\n| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n")
	for _, f := range metrics.Families() {
		b.WriteString(row("`"+f.Name+"`", f.Type, strings.Join(f.Labels, ", "), f.Help))
	}
	return b.String()
}

func latencyBounds() string {
	bounds := make([]string, len(route.LatencyBounds))
	for i, bound := range route.LatencyBounds {
		bounds[i] = strconv.FormatFloat(bound.Seconds(), 'f', -1, 64)
	}
	return strings.Join(bounds, ", ")
}
