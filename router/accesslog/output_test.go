package accesslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func block(from, to int) []byte {
	var b bytes.Buffer
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "line %03d\n", i)
	}
	return b.Bytes()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRotation: no file is larger than the limit, lines stay whole and in order, and
// only so many files are kept.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	o := output{path: path, limit: 95, keep: 3}
	if err := o.open(); err != nil {
		t.Fatal(err)
	}
	defer o.close()
	for i := range 10 {
		if lost, err := o.write(block(i*7, i*7+7)); lost > 0 || err != nil {
			t.Fatal(lost, err)
		}
	}
	var kept string
	for _, name := range []string{".3", ".2", ".1", ""} {
		text := read(t, path+name)
		if len(text) > 95 || !strings.HasSuffix(text, "\n") {
			t.Errorf("%q has %d bytes: %q", name, len(text), text)
		}
		kept += text
	}
	if all := string(block(0, 70)); !strings.HasSuffix(all, kept) || len(kept) < 3*90 {
		t.Errorf("kept %d bytes: %q", len(kept), kept)
	}
	if _, err := os.Stat(path + ".4"); err == nil {
		t.Error("one file too many")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("others may read the file: %v %v", info.Mode(), err)
	}
}

// TestRotationOfLongLines: a line beyond the limit has a file of its own.
func TestRotationOfLongLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	o := output{path: path, limit: 10, keep: 2}
	if err := o.open(); err != nil {
		t.Fatal(err)
	}
	defer o.close()
	long := strings.Repeat("x", 30) + "\n"
	if lost, err := o.write([]byte(long + "a\n" + long)); lost > 0 || err != nil {
		t.Fatal(lost, err)
	}
	if read(t, path) != long || read(t, path+".1") != "a\n" || read(t, path+".2") != long {
		t.Errorf("%q %q %q", read(t, path), read(t, path+".1"), read(t, path+".2"))
	}
}

// TestReopen: after logrotate has moved the file, lines go to a new one; when that is
// not possible they go on into the old one.
func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "access.log")
	var own bytes.Buffer
	l := New(Config{Path: path, Log: zerolog.New(zerolog.SyncWriter(&own))})
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	l.Log(request(), "/before")
	l.flush()
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	l.Log(request(), "/still-old")
	l.Reopen()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	eventually(t, "the file is there again", func() bool { _, err := os.Stat(path); return err == nil })
	l.Log(request(), "/after")
	eventually(t, "the line is written", func() bool { return l.Stats().Lines == 3 })
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	l.Reopen()
	l.Log(request(), "/last")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	moved, now := read(t, dir+".gone/access.log.moved"), read(t, dir+".gone/access.log")
	if strings.Count(moved, "\n") != 2 || !strings.Contains(moved, "/still-old") || !strings.Contains(now, "/after") || !strings.Contains(now, "/last") {
		t.Errorf("moved file %q, new file %q", moved, now)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(5 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("never: " + what)
		}
	}
}

// short is a writer that takes so many bytes.
type short struct {
	room int
	text bytes.Buffer
}

var errFull = errors.New("no space left")

func (s *short) Write(p []byte) (int, error) {
	n := min(len(p), s.room)
	s.room -= n
	s.text.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestAFullDisk: what cannot be written is counted, the log says so once a minute, and
// the line that was cut does not spoil the next one.
func TestAFullDisk(t *testing.T) {
	w := &short{room: 22}
	o := output{stream: w}
	if lost, err := o.write(block(0, 4)); lost != 2 || !errors.Is(err, errFull) {
		t.Errorf("%d lost, %v", lost, err)
	}
	if lost, err := o.write(block(4, 6)); lost != 2 || err == nil {
		t.Errorf("%d lost, %v", lost, err)
	}
	w.room = 100
	if lost, err := o.write(block(6, 8)); lost != 0 || err != nil {
		t.Errorf("%d lost, %v", lost, err)
	}
	if want := "line 000\nline 001\nline\nline 006\nline 007\n"; w.text.String() != want {
		t.Errorf("written %q, want %q", w.text.String(), want)
	}

	var own bytes.Buffer
	l := New(Config{Out: &short{}, Log: zerolog.New(zerolog.SyncWriter(&own))})
	for range 5 {
		l.Log(request(), "/")
		l.flush()
	}
	if s := l.Stats(); s != (Stats{Dropped: 5}) || strings.Count(own.String(), "\n") != 1 || !strings.Contains(own.String(), "no space left") {
		t.Errorf("stats %+v, log %q", s, own.String())
	}
}

// TestAFileThatCannotBeSetAside grows rather than lose a line, and the log says that.
func TestAFileThatCannotBeSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	if err := os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	var own bytes.Buffer
	l := New(Config{Path: path, MaxBytes: 100, Keep: 1, Log: zerolog.New(zerolog.SyncWriter(&own))})
	if err := l.out.open(); err != nil {
		t.Fatal(err)
	}
	defer l.out.close()
	for range 5 {
		l.Log(request(), "/")
		l.flush()
	}
	if n := strings.Count(read(t, path), "\n"); n != 5 || l.Stats() != (Stats{Lines: 5}) {
		t.Errorf("%d lines, %+v", n, l.Stats())
	}
	if text := own.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "lines are lost") || !strings.Contains(text, "grows beyond its size") {
		t.Errorf("log %q", text)
	}
}

func TestOpenFails(t *testing.T) {
	l := New(Config{Path: filepath.Join(t.TempDir(), "no", "such", "folder")})
	if err := l.Open(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open gives %v", err)
	}
}
