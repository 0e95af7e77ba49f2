package refdocs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead/api/metrics"
)

// TestMetricsOfTheGuideExist: every name in the pages about observing is one of the table.
func TestMetricsOfTheGuideExist(t *testing.T) {
	var known []string
	for _, f := range metrics.Families() {
		known = append(known, f.Name)
	}
	found := 0
	for _, page := range []string{"docs/howto/observe.md", "docs/reference/metrics.md"} {
		for _, name := range regexp.MustCompile(`fairlead_[a-z_]+`).FindAllString(read(t, page), -1) {
			found++
			if base := strings.TrimSuffix(name, "_bucket"); !slices.Contains(known, base) {
				t.Errorf("%s: there is no metric %s", page, name)
			}
		}
	}
	if found < len(known) {
		t.Errorf("only %d names found", found)
	}
}
