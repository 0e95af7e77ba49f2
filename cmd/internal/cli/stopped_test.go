package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// stoppedWorlds are a world with an engine alone and one with a router, which have a
// container that ended a while ago.
func stoppedWorlds(t *testing.T) (offline, live *world) {
	t.Helper()
	e := enginetest.New(enginetest.Docker29)
	self := e.Run(enginetest.Container{Name: "router", Image: "fairlead"})
	e.Die(e.Run(enginetest.Container{Name: "job-1", Image: "app", Expose: []string{"80/tcp"}, Labels: map[string]string{
		"sozune.enable": "true", "sozune.http.job.host": "job.localhost"}}), 3)
	e.Edit("job-1", func(c *enginetest.Container) { c.Finished = time.Now().Add(-4*time.Minute - 2*time.Second) })
	offline = &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "DOCKER_HOST=" + e.ServeUnix(t), "FAIRLEAD_CONTAINER_ID=" + self, "FAIRLEAD_ADMIN=http://127.0.0.1:1"}}
	offline.ports("127.0.0.1:0", "")
	v, err := (&program{Streams: Streams{Env: offline.env}}).offline(t.Context(), &sourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mixed := view(t, someVerdicts())
	mixed.Rejected, mixed.Providers[0].Rejected = v.Rejected, 1
	return offline, liveWorld(t, mixed)
}

// Whoever asks for a container that ended, by its host, its entrypoint or at all, is told
// of it, with its age; it is no mistake.
func TestAContainerThatEndedIsFound(t *testing.T) {
	offline, live := stoppedWorlds(t)
	const why, fix = "does not run: ended with exit code 3", "docker start job-1; docker logs job-1"
	for args, c := range map[string]struct {
		w    *world
		code int
		has  []string
	}{
		"validate":                              {offline, 0, []string{why + ", 4m ", " ago", "fix: " + fix, "0 errors, 0 warnings"}},
		"doctor":                                {offline, 0, []string{"note  labels: job-1 is not routed: " + why + ", 4m ", "fix: " + fix, "Nothing is in the way."}},
		"route resolve job.localhost --offline": {offline, 1, []string{"container job-1 declares this host and is not routed: " + why + ", " + fix}},
		"route list":                            {live, 0, []string{"1 candidate not routed: fairlead validate says why"}},
		"explain http_job":                      {live, 3, []string{"there is no entrypoint http_job", "job-1 would be its backend, but is not routed: " + why + ", 4m "}},
		"health job":                            {live, 3, []string{"job-1 would be its backend"}},
	} {
		r := c.w.run(strings.Fields(args)...)
		said := strings.Join(strings.Fields(r.all()), " ") // sentences are wrapped
		for _, text := range c.has {
			if !strings.Contains(said, strings.Join(strings.Fields(text), " ")) {
				t.Errorf("%s: no %q in\n%s", args, text, r.all())
			}
		}
		if r.code != c.code {
			t.Errorf("%s: exit %d, want %d", args, r.code, c.code)
		}
	}
	for _, args := range []string{"route list -q api", "explain http_nothing"} {
		if r := live.run(strings.Fields(args)...); strings.Contains(r.all(), "not routed") {
			t.Errorf("%s: %s", args, r.all())
		}
	}
	var report struct{ Rejected []route.Rejected }
	r := offline.run("validate", "--json")
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || len(report.Rejected) != 1 || report.Rejected[0].Reason != why || report.Rejected[0].Since == 0 {
		t.Errorf("%v: %s", err, r.out)
	}
}
