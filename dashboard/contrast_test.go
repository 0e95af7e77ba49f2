package dashboard

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// tokenLine is one colour of tokens.css, for the light and for the dark theme.
var tokenLine = regexp.MustCompile(`--([a-z-]+):\s*light-dark\(#([0-9a-f]{6}),\s*#([0-9a-f]{6})\)`)

func tokens(t *testing.T) map[string][2]string {
	t.Helper()
	text, err := staticFiles.ReadFile("static/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][2]string{}
	for _, m := range tokenLine.FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = [2]string{m[2], m[3]}
	}
	return found
}

// luminance of a colour (WCAG 2.2, relative luminance).
func luminance(hex string) float64 {
	channel := func(i int) float64 {
		n, err := strconv.ParseUint(hex[i:i+2], 16, 8)
		if err != nil {
			panic(err)
		}
		c := float64(n) / 255
		if c <= .04045 {
			return c / 12.92
		}
		return math.Pow((c+.055)/1.055, 2.4)
	}
	return .2126*channel(0) + .7152*channel(2) + .0722*channel(4)
}

func contrast(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + .05) / (min(la, lb) + .05)
}

func TestContrastOfColours(t *testing.T) {
	colours := tokens(t)
	const text, shape = 4.5, 3
	for _, pair := range []struct {
		front string
		least float64
		on    []string
	}{
		{"ink", text, []string{"ground", "sheet", "sunk", "watch-ground", "alarm-ground"}},
		{"soft", text, []string{"ground", "sheet", "sunk", "watch-ground", "alarm-ground"}},
		{"link", text, []string{"ground", "sheet", "watch-ground", "alarm-ground"}},
		{"calm", text, []string{"ground", "sheet"}},
		{"watch", text, []string{"ground", "sheet", "watch-ground", "alarm-ground"}},
		{"alarm", text, []string{"ground", "sheet", "watch-ground", "alarm-ground"}},
		{"alarm-ink", text, []string{"alarm-fill"}},
		{"sheet", text, []string{"ink"}},
		{"edge", shape, []string{"ground", "sheet"}},
		{"wave", shape, []string{"ground", "sheet", "wave-soft"}},
		{"alarm-edge", shape, []string{"ground", "sheet", "alarm-ground"}},
	} {
		for _, ground := range pair.on {
			for theme, name := range []string{"light", "dark"} {
				front, back := colours[pair.front][theme], colours[ground][theme]
				if front == "" || back == "" {
					t.Fatalf("tokens.css has no %s or no %s", pair.front, ground)
				}
				if c := contrast(front, back); c < pair.least {
					t.Errorf("%s: %s on %s has %.2f:1, want %.1f:1", name, pair.front, ground, c, pair.least)
				}
			}
		}
	}
}
