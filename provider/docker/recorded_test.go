package docker

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// recordings are answers of real engines; all must lead to the same candidates.
var recordings = map[string]enginetest.Style{
	"docker-20.10-api1.41": enginetest.Docker20,
	"docker-29.7-api1.51":  enginetest.Docker29,
	"docker-29.7-api1.55":  enginetest.Docker29,
}

// shape is what must not depend on the engine: everything but ids, times and addresses.
func shape(s route.Snapshot) string {
	var lines []string
	for _, e := range s.Entrypoints {
		words := []string{e.ID}
		for _, b := range e.Backends {
			host := "address"
			if b.Loopback {
				host = b.Host
			}
			words = append(words, b.Name, string(b.Provider), b.Container.Health, host, route.JoinHostPort("", b.Port))
		}
		for _, a := range e.Absent {
			words = append(words, a.Name, string(a.Why))
		}
		lines = append(lines, strings.Join(append(words, codes(e.Diagnostics)), " "))
	}
	for _, r := range s.Rejected {
		lines = append(lines, "rejected "+r.Name+" "+r.Reason)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestRecordedEnginesLeadToTheSameCandidates(t *testing.T) {
	want, err := os.ReadFile("testdata/recorded.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, recordingAt(t, name, recordings[name]).ServeUnix(t), nil)
			s, err := p.Collect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(s); got != strings.TrimSpace(string(want)) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
