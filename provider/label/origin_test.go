package label

import (
	"slices"
	"testing"

	"fairlead/router/route"
)

func TestOriginsNameTheLabelsThatWork(t *testing.T) {
	c := Candidate{ID: "c1", Provider: "docker", Labels: map[string]string{
		"sozune.enable": "true", "sozune.http.api.Host": "api.example.com", "sozune.http.api.matchHeaders": "X-Key:s3cret",
		"sozune.http.api.HealthCheck.Path": "/health", "sozune.http.api.weight": "3", "sozune.http.api.compress": "true",
		"sozune.http.api.unheard": "of",
	}}
	p := Parse(Config{Prefix: DefaultPrefix}, c)
	e := Group([]Input{{Candidate: c, Parsed: p, Presence: Present, Endpoints: []Endpoint{{Host: "10.0.0.1", Port: 80}}}}, nil).Entrypoints[0]
	want := []route.Origin{
		{Key: "healthcheck.path", Label: "sozune.http.api.HealthCheck.Path"},
		{Key: "host", Label: "sozune.http.api.Host"},
		{Key: "matchheaders", Label: "sozune.http.api.matchHeaders"},
	}
	if !slices.Equal(e.Labels, want) {
		t.Errorf("%+v, want %+v", e.Labels, want)
	}
}
