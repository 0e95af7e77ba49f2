package refdocs

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write docs/reference")

func TestReferencePagesAreCurrent(t *testing.T) {
	for name, text := range map[string]string{
		"labels.md": Labels(), "diagnostics.md": Diagnostics(), "configuration.md": Configuration(), "metrics.md": Metrics(), "cli.md": Commands(),
	} {
		path := filepath.Join("..", "..", "..", "docs", "reference", name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("%s is not current (%v): go test ./cmd/internal/refdocs -update", path, err)
		}
	}
}
