package compose

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTwoStacksWithOneHostAndServiceName are one route with the backends of both, and it
// says so.
func TestTwoStacksWithOneHostAndServiceName(t *testing.T) {
	const file = "services:\n  web:\n    image: x\n    " + routedLabels + "\n"
	folder := folderOf(t, map[string]string{"shop2/compose.yaml": file, "blog2/compose.yaml": file})
	s, err := collect(t, folder, nil, "shop2/compose.yaml", "blog2/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(s.Entrypoints[0].Diagnostics); len(s.Entrypoints) != 1 || !strings.Contains(text, "W134") || !strings.Contains(text, "blog2, shop2") {
		t.Errorf("%v", told(s))
	}
}

// TestTwoProjectsOfOneName: compose would replace the containers of one by the other's. Here
// both are judged, and no candidate hides another one.
func TestTwoProjectsOfOneName(t *testing.T) {
	const file = "services:\n  web:\n    image: x\n    " + routedLabels + "\n"
	folder := folderOf(t, map[string]string{
		"shop/docker/compose.yaml": file, "blog/docker/compose.yaml": strings.Replace(file, `"80"`, "http", 1),
		"named/docker/compose.yaml": "name: other\n" + file,
	})
	s, err := collect(t, folder, nil, "shop/docker/compose.yaml", "blog/docker/compose.yaml", "named/docker/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var codes, ids []string
	for _, d := range s.Global {
		codes = append(codes, d.Code+" "+d.Message)
	}
	if len(codes) != 1 || !strings.HasPrefix(codes[0], "W135") || !strings.Contains(codes[0], "shop/docker/compose.yaml and") || !strings.Contains(codes[0], "blog/docker/compose.yaml are both project docker") {
		t.Errorf("%q", codes)
	}
	for _, b := range s.Entrypoints[0].Backends {
		ids = append(ids, b.Container.ID)
	}
	slices.Sort(ids)
	if want := []string{"docker-web-1", "docker-web-1#2", "other-web-1"}; !slices.Equal(ids, want) {
		t.Errorf("containers %q, want %q", ids, want)
	}
	if s, err = collect(t, folder, []string{"COMPOSE_PROJECT_NAME=one"}, "shop/docker/compose.yaml", "named/docker/compose.yaml"); err != nil || len(s.Global) != 1 {
		t.Errorf("a name of the environment: %v %v", s.Global, err)
	}
}
