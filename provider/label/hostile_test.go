package label

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHostileLabelsAreCheap bounds what labels can cost: values that were quadratic
// for a naive reader, at a size that would then take minutes of a processor, whatever else
// the machine does.
func TestHostileLabelsAreCheap(t *testing.T) {
	const size = 1 << 18
	values := []string{
		strings.Repeat("./x", size/3), strings.Repeat("/", size), strings.Repeat(" /", size/2), strings.Repeat(",", size), strings.Repeat("a,", size/2),
		"u:$argon2" + strings.Repeat(",x", size/2), strings.Repeat("@?", size/2), strings.Repeat("(", size), strings.Repeat("%", size),
		strings.Repeat("(a{1000}){1000}", 60), strings.Repeat("\xff", size), strings.Repeat("ä", size/2), strings.Repeat("!200,", size/5),
	}
	start := spent(t)
	for _, k := range []string{"host", "auth.basic", "pathRegex", "path", "healthCheck.path", "healthCheck.status", "methods", "matchQuery", "ipAllowList", "nonsense", "headers.X-A", "priority", "forwardAuth.address"} {
		for _, v := range values {
			web(t, map[string]string{k: v})
		}
	}
	labels := map[string]string{"sozune.enable": "true"}
	for i := range 5000 {
		labels[fmt.Sprintf("sozune.http.s%d.nonsense%d", i, i)] = "x"
	}
	parseLabels(t, labels)
	web(t, map[string]string{strings.Repeat("timout.", size/7): "x", strings.Repeat("auth", size/4): "x"})
	if took := spent(t) - start; took > time.Minute {
		t.Errorf("took %s of a processor", took)
	}
}
