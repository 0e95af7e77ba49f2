//go:build unix

package app

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAccessLogToAFifoWithoutAReader is an error of the start, not a start that hangs.
func TestAccessLogToAFifoWithoutAReader(t *testing.T) {
	s := settings(tempFile(t, "entrypoints: []\n"))
	s.Log.Access.Path = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(s.Log.Access.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "log.access.path: nobody reads the FIFO") {
		t.Errorf("Run gives %v", err)
	}
}
