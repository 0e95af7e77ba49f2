package compose

import (
	"os"
	"path/filepath"
	"testing"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// folderOf writes files below a new folder named shop, which is then the project's name too.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "shop")
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// collect reads projects of one file each, below a folder.
func collect(t *testing.T, folder string, env []string, files ...string) (route.Snapshot, error) {
	t.Helper()
	cfg := Config{Env: env, Label: label.Config{Prefix: "sozune"}}
	for _, f := range files {
		cfg.Projects = append(cfg.Projects, []string{filepath.Join(folder, f)})
	}
	return New(cfg).Collect(t.Context())
}

// judge reads compose.yaml of the files, which must be right.
func judge(t *testing.T, env []string, files map[string]string) route.Snapshot {
	t.Helper()
	s, err := collect(t, folderOf(t, files), env, "compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hosts lists the hosts of all entrypoints.
func hosts(s route.Snapshot) []string {
	var list []string
	for _, e := range s.Entrypoints {
		for i := range e.Match.Hosts {
			list = append(list, e.Match.Hosts[i].String())
		}
	}
	return list
}
