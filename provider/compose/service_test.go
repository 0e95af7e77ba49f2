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

// TestPortLabelThatNamesAPortOfTheHost is told, of a range too, and for the ports of a service
// whose network it shares; not where the container has that port as well.
func TestPortLabelThatNamesAPortOfTheHost(t *testing.T) {
	for _, tt := range []struct {
		ports string
		want  bool
	}{
		{`ports: ["8081:3000"]`, true},
		{`ports: ["127.0.0.1:8081:3000"]`, true},
		{`ports: ["8080-8090:3000"]`, true},
		{`ports: ["8080-8082:3000-3002"]`, true},
		{`ports: [{target: 3000, published: "8081"}]`, true},
		{`ports: ["8081:3000", "9000:8081"]`, false},
		{`ports: ["8081:3000"], expose: ["8081"]`, false},
		{`ports: ["8081:8081"]`, false},
		{`ports: ["8081:3000/udp"]`, false},
		{`ports: ["3000"]`, false},
		{`expose: ["3000"]`, false},
	} {
		for _, services := range []string{
			"web: {image: x, " + tt.ports + ", LABELS}",
			"vpn: {image: x, " + tt.ports + "}\n  web: {image: x, network_mode: 'service:vpn', LABELS}",
		} {
			s := judge(t, nil, map[string]string{"compose.yaml": "services:\n  " +
				strings.Replace(services, "LABELS", strings.Replace(routedLabels, `"80"`, `"8081"`, 1), 1) + "\n"})
			if got := codesOf(s); got == "W136" != tt.want || got != "" && got != "W136" {
				t.Errorf("%s: found %q", services, got)
			}
			if tt.want && !strings.Contains(fmt.Sprint(s.Candidates), "8081 is the port on the host; the container's is 300") {
				t.Errorf("%s: %v", services, s.Candidates)
			}
			if b := s.Entrypoints[0].Backends; len(b) != 1 || b[0].Port != 8081 {
				t.Errorf("%s: the label does not count: %+v", services, b)
			}
		}
	}
}
