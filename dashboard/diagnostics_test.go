package dashboard

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
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

// TestAStoppedContainerIsNoMistake: it is listed with its age, found by its entrypoint, and no
// badge or count calls it an error.
func TestAStoppedContainerIsNoMistake(t *testing.T) {
	now := time.Now() // as the dashboard's clock
	v := brokenView(now)
	navigation := func(d *Dashboard) string {
		_, nav, _ := strings.Cut(get(d, "").Body.String(), "<nav")
		nav, _, _ = strings.Cut(nav, "</nav>")
		return nav
	}
	before := navigation(newDashboard(v, nil))
	v.Rejected = append(v.Rejected, route.Rejected{
		CandidateID: "j1", Name: "job", Reason: "does not run: ended with exit code 3", Hint: "docker start job; docker logs job",
		Entrypoints: []string{"http_nightly"}, Since: now.Add(-4 * time.Minute).Unix(),
	})
	d := newDashboard(v, nil)
	for _, page := range []string{"diagnostics", "diagnostics?q=http_nightly"} {
		body := get(d, page).Body.String()
		_, item, _ := strings.Cut(body, `<li data-key="j1"`)
		item, _, _ = strings.Cut(item, "</li>")
		if !strings.Contains(item, `data-level="calm"`) || !strings.Contains(item, "ended with exit code 3") || !strings.Contains(item, ">4 min") ||
			!strings.Contains(item, "docker start job") {
			t.Errorf("%s: %s", page, item)
		}
	}
	if after := navigation(d); after != before || !strings.Contains(before, "badge") {
		t.Errorf("the navigation was %s\nand is %s", before, after)
	}
}
