package compose

import (
	"fmt"
	"strings"
	"testing"
)

// TestScaledToNothing is judged all the same, marked, and takes nothing from others.
func TestScaledToNothing(t *testing.T) {
	for _, scale := range []string{"scale: 0", "deploy: {replicas: 0}"} {
		bad := strings.Replace(routedLabels, "port: \"80\"", "port: http", 1)
		s := judge(t, nil, map[string]string{"compose.yaml": "services:\n  web:\n    image: x\n    " + scale + "\n    " + bad + "\n"})
		if len(s.Entrypoints) != 1 || len(s.Entrypoints[0].Backends) != 0 || len(s.Entrypoints[0].Absent) != 1 || s.Entrypoints[0].Absent[0].Detail != "scaled to 0" {
			t.Errorf("%s: %v", scale, told(s))
			continue
		}
		if text := fmt.Sprint(s.Candidates); !strings.Contains(text, "W001") || !strings.Contains(text, "I112") {
			t.Errorf("%s: %s", scale, text)
		}
	}
	s := judge(t, nil, map[string]string{"compose.yaml": "services:\n  a:\n    image: x\n    scale: 0\n    " + routedLabels + "\n  b:\n    image: x\n    " +
		strings.Replace(routedLabels, "web.localhost", "b.localhost", 1) + "\n"})
	if s.Entrypoints[0].ID != "http_web" || s.Entrypoints[0].Match.Hosts[0].String() != "b.localhost" {
		t.Errorf("the one with a container does not come first: %v", told(s))
	}
}

// TestLabelsOfABuild reach the container by its image; the service's own ones win.
func TestLabelsOfABuild(t *testing.T) {
	s := judge(t, nil, map[string]string{"compose.yaml": "services:\n  web:\n    build:\n      context: .\n      " + routedLabels +
		"\n    labels: {sozune.http.web.host: own.localhost}\n"})
	if got := strings.Join(hosts(s), " "); got != "own.localhost" || s.Entrypoints[0].Backends[0].Port != 80 {
		t.Errorf("hosts %q: %v", got, told(s))
	}
}

// TestContainerName is what a container is called.
func TestContainerName(t *testing.T) {
	s := judge(t, nil, map[string]string{"compose.yaml": "services:\n  web:\n    image: x\n    container_name: front\n    " + routedLabels + "\n"})
	if c := s.Entrypoints[0].Backends[0].Container; c.Name != "front" || c.ID != "front" {
		t.Errorf("%+v", c)
	}
}
