package docker

import (
	"fmt"
	"slices"
	"testing"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// TestPortLabelThatNamesAPortOfTheHost is told of a container by its own bindings, or by
// those of the container whose network it shares. The test engine binds from 18000 on.
func TestPortLabelThatNamesAPortOfTheHost(t *testing.T) {
	eachStyle(t, func(t *testing.T, e *enginetest.Engine) {
		labelled := func(port string) func(*enginetest.Container) {
			return func(c *enginetest.Container) { c.Labels["sozune.http.web.port"] = port }
		}
		bound := func(c *enginetest.Container) { c.Expose, c.Publish = nil, []string{"3000/tcp", "18002/tcp"} }
		want := []string{e.Run(web("own", labelled("18000"), bound))}
		e.Run(web("right", labelled("3000"), bound))
		e.Run(web("inside", labelled("18002"), bound))
		vpn := e.Run(enginetest.Container{Name: "vpn", Publish: []string{"3000/tcp"}})
		want = append(want, e.Run(web("app", labelled("18000"), func(c *enginetest.Container) { c.NetworkMode = "container:" + vpn })))
		s, err := newProvider(t, e.ServeUnix(t), nil).Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range s.Candidates {
			if i := slices.IndexFunc(c.Diagnostics, func(d route.Diagnostic) bool { return d.Code == "W136" }); i >= 0 {
				got = append(got, c.CandidateID)
				if c.Diagnostics[i].Message != "18000 is the port on the host; the container's is 3000" {
					t.Errorf("%+v", c.Diagnostics[i])
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("W136 of %v, want %v\n%s", got, want, describeSnapshot(s))
		}
		for _, point := range s.Entrypoints {
			for i := range point.Backends {
				if b := &point.Backends[i]; b.Port == 80 {
					t.Error(fmt.Sprint("the label does not count: ", b.Name))
				}
			}
		}
	})
}
