package docker

import (
	"fmt"
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
		reason, _, failed := strings.Cut(r.Reason, "could not be started: ") // the engine's own words follow
		if failed {
			reason += "could not be started"
		}
		lines = append(lines, "rejected "+r.Name+" "+reason)
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

func TestRecordedInspectsSayTheSame(t *testing.T) {
	said := map[string]map[string]string{}
	for name, style := range recordings {
		e := recordingAt(t, name, style)
		ep, err := parseEndpoint(Config{Endpoint: e.ServeTCP(t)})
		if err != nil {
			t.Fatal(err)
		}
		eng, err := dialer(ep)(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		list, err := eng.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			in, err := eng.Inspect(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			mode, _, _ := strings.Cut(in.NetworkMode, ":")
			if mode == "default" {
				mode = "bridge" // the older name
			}
			addresses := 0
			for _, a := range in.Networks {
				addresses += len(keysOf(a))
			}
			text := fmt.Sprint(in.Status, " ", in.Health, " ", mode, " ", nameList(in.Networks), " ", addresses, " ", in.Exposed,
				" started ", !in.Started.IsZero(), " ended ", !in.Finished.IsZero())
			if said[c.Name] == nil {
				said[c.Name] = map[string]string{}
			}
			said[c.Name][name] = text
		}
	}
	if len(said) != 12 {
		t.Errorf("%d containers, want 12", len(said))
	}
	for container, texts := range said {
		distinct := slices.Compact(slices.Sorted(maps.Values(texts)))
		if len(texts) != len(recordings) || len(distinct) != 1 {
			t.Errorf("%s: %q", container, texts)
		}
	}
	if multi := said["multi"]["docker-29.7-api1.55"]; !strings.Contains(multi, "edge, inner 2") {
		t.Errorf("multi is %s", multi)
	}
}

// The recorded containers are stopped, killed and removed by the recorded events, while
// the inspects go on showing them as they were.
func TestRecordedEventsAreUnderstood(t *testing.T) {
	for name, style := range recordings {
		t.Run(name, func(t *testing.T) {
			e := recordingAt(t, name, style)
			r := start(t, newProvider(t, e.ServeUnix(t), nil))
			r.until("the first read", func(s route.Snapshot) bool { return strings.Contains(of(s, "http_plain"), "(present)") })
			e.Play()
			s := r.until("the events", func(s route.Snapshot) bool {
				return of(s, "http_sick") == "sick(retained)" && strings.HasSuffix(of(s, "http_hc"), "(leaving)")
			})
			if !strings.HasSuffix(of(s, "http_plain"), "(present)") || of(s, "http_f") != "-" {
				t.Errorf("got %s", describeSnapshot(s))
			}
			e.Show("paused")
			e.Emit(enginetest.Event{Type: "container", Action: "pause", ID: r.container("http_plain")})
			r.until("the recorded pause", func(s route.Snapshot) bool { return strings.HasSuffix(of(s, "http_plain"), "(paused)") })
		})
	}
}
