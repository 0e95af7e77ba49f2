package docker

import (
	"slices"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// refusals is what a snapshot rejects, by name.
func refusals(s route.Snapshot) map[string]route.Rejected {
	out := map[string]route.Rejected{}
	for _, r := range s.Rejected {
		out[r.Name] = r
	}
	return out
}

// A container that ended is an absent backend while it is retained, and listed among the
// rejected from then on: never both, and the time that passes is no news.
func TestContainerThatEndedStaysListedAfterItsRetention(t *testing.T) {
	for _, style := range []enginetest.Style{enginetest.Docker20, enginetest.Docker29, enginetest.Podman} {
		onWire(t, style, threeSites, func(w *wire) {
			w.e.Run(own("job"))
			w.after(time.Second)
			w.e.Die("job", 3)
			ended := time.Now()
			w.after(time.Second)
			w.is("http_job", "job(retained)")
			if len(w.last().Rejected) != 0 {
				t.Errorf("told twice: %s", describeSnapshot(w.last()))
			}
			w.after(DefaultRetain)
			w.is("http_job", "-")
			r := refusals(w.last())["job"]
			if r.Reason != "does not run: ended with exit code 3" || r.Code != "" || r.Hint != "docker start job; docker logs job" ||
				r.Since != ended.Unix() || !slices.Equal(r.Entrypoints, []string{"http_job"}) {
				t.Errorf("listed as %+v", r)
			}
			if u := w.last().Unrouted; len(u) != 1 || u[0].What != "container job" || u[0].Hosts[0].Text != "job.example" || u[0].Reason != r.Reason || u[0].Hint != r.Hint {
				t.Errorf("its hosts: %+v", u)
			}
			puts, lines := w.puts(), w.log.count()
			w.after(10 * resyncInterval)
			if w.puts() != puts || w.log.count() != lines {
				t.Errorf("%d snapshots and %d lines of log while time passed", w.puts()-puts, w.log.count()-lines)
			}
			w.e.Start("job")
			w.after(time.Second)
			w.is("http_job", w.up("job"))
			if len(w.last().Rejected) != 0 {
				t.Errorf("a running container is listed: %s", describeSnapshot(w.last()))
			}
			w.e.Die("job", 0)
			w.after(2 * DefaultRetain)
			w.e.Remove("job")
			w.after(time.Second)
			if len(w.last().Rejected) != 0 {
				t.Errorf("a removed container is listed: %s", describeSnapshot(w.last()))
			}
		})
	}
}

// Whoever looks once sees every enabled container that does not run, and none that is off.
func TestContainersThatDoNotRunAreListed(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.Create(own("fresh"))
	ended := time.Now().Add(-time.Hour)
	for _, name := range []string{"old", "stuck"} {
		e.Stop(e.Run(own(name)))
		e.Edit(name, func(c *enginetest.Container) { c.Finished = ended })
	}
	e.Edit("stuck", func(c *enginetest.Container) { c.Status, c.ExitCode = "dead", 9 })
	e.Stop(e.Run(own("just")))
	for name, enable := range map[string]string{"off": "false", "forgot": ""} {
		c := own(name)
		c.Labels["sozune.enable"] = enable
		e.Stop(e.Run(c))
		e.Edit(name, func(c *enginetest.Container) { c.Finished = ended })
	}
	s, err := newProvider(t, e.ServeUnix(t), nil).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := refusals(s)
	for name, want := range map[string]string{
		"fresh": "was created and never started",
		"old":   "does not run: ended with exit code 0",
		"stuck": "is dead: the engine could not remove it; it ended with exit code 9",
	} {
		if r := got[name]; r.Reason != want || r.Code != "" || r.Hint == "" || r.Since == 0 {
			t.Errorf("%s: %+v, want %q", name, r, want)
		}
	}
	if len(got) != 3 || got["old"].Since != ended.Unix() {
		t.Errorf("got %s", describeSnapshot(s))
	}
	var hosts []string
	for _, u := range s.Unrouted {
		hosts = append(hosts, u.Hosts[0].Text)
	}
	slices.Sort(hosts)
	if want := []string{"fresh.example", "old.example", "stuck.example"}; !slices.Equal(hosts, want) {
		t.Errorf("hosts %q, want %q", hosts, want)
	}
	if of(s, "http_just") != "just(retained)" {
		t.Errorf("one in its retention: %s", describeSnapshot(s))
	}
}

func TestContainerThatCouldNotBeStartedSaysWhy(t *testing.T) {
	for _, status := range []string{statusCreated, statusExited} {
		r := &record{name: "web", info: inspected{Status: status, ExitCode: 128, Error: "port is already allocated"}}
		got := stopped(r)
		if got.Reason != "does not run: could not be started: port is already allocated" || got.Hint != "remove the cause, then docker start web" || got.Since != 0 {
			t.Errorf("%s: %+v", status, got)
		}
	}
}
