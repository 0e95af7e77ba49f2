package dashboard

import (
	"strings"
	"testing"
)

// TestARefusedContainerStandsInOnePlace: its findings are told where it is, the one that
// it is refused for once, and the pager counts it once.
func TestARefusedContainerStandsInOnePlace(t *testing.T) {
	d := newDashboard(brokenView(noon), nil)
	body := get(d, "diagnostics").Body.String()
	for text, want := range map[string]int{
		">sozune.enabel is not a label of ours<": 1, "<code><bdi>sozune.enabel</bdi></code>": 1, "there is no such key; did you mean host?": 1, ">crm</bdi>": 1, `data-key="c-2b90`: 0,
	} {
		if got := strings.Count(body, text); got != want {
			t.Errorf("%d times %s, want %d", got, text, want)
		}
	}
	// What is asked for alone stands alone.
	if body := get(d, "diagnostics?severity=warn").Body.String(); !strings.Contains(body, "did you mean host?") || strings.Contains(body, "Not routed</h2>") {
		t.Error("a warning about a refused container is not found")
	}
}
