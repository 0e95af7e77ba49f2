//go:build unix

package accesslog

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
)

// ownLog is what a log says of itself.
type ownLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *ownLog) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *ownLog) count(part string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Count(o.text.String(), part)
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// reader opens the reading end without waiting for a writer.
func reader(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// running runs a log until the end of the test.
func running(t *testing.T, l *Log) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestAFifoWithoutAReaderIsAnErrorAtOnce and not a start that hangs; a socket is told from
// it.
func TestAFifoWithoutAReaderIsAnErrorAtOnce(t *testing.T) {
	path := fifo(t)
	if err := New(Config{Path: path}).Open(); err == nil || !strings.Contains(err.Error(), "nobody reads the FIFO "+path) {
		t.Errorf("Open gives %v", err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := New(Config{Path: socket}).Open(); err == nil || !strings.Contains(err.Error(), "is a socket") {
		t.Errorf("Open gives %v", err)
	}
}

// TestAFifoWhoseReaderLeaves: lines are lost and counted while nobody reads, and come again
// with a reader; a wish to open anew is answered and blocks nothing. No size sets it aside.
func TestAFifoWhoseReaderLeaves(t *testing.T) {
	path, own := fifo(t), &ownLog{}
	first := reader(t, path)
	l := New(Config{Path: path, MaxBytes: 10, Log: zerolog.New(own)})
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	running(t, l)
	line := func(file *os.File, target string) {
		t.Helper()
		l.Log(request(), target)
		if text, err := bufio.NewReader(file).ReadString('\n'); err != nil || !strings.Contains(text, target) {
			t.Errorf("%v %q, want %s", err, text, target)
		}
	}
	line(first, "/one")
	line(first, "/two")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		l.Log(request(), "/nobody")
		eventually(t, "a line is counted as lost", func() bool { return l.Stats() == Stats{Lines: 2, Dropped: i + 1} })
	}
	for i := range 2 {
		l.Reopen()
		eventually(t, "the wish is answered", func() bool { return own.count("nobody reads the FIFO") == i+1 })
	}
	if own.count("lines are lost") != 1 || own.count("broken pipe") != 1 {
		t.Errorf("log %s", own.text.String())
	}
	second := reader(t, path)
	line(second, "/three")
	l.Reopen()
	eventually(t, "the wish is answered", func() bool { return own.count("was opened anew") == 1 })
	line(second, "/four")
	eventually(t, "all lines are counted", func() bool { return l.Stats() == Stats{Lines: 4, Dropped: 3} })
	if _, err := os.Lstat(path + ".1"); err == nil {
		t.Error("the FIFO was set aside")
	}
}

// TestAFailedReopenIsToldBehindAnotherFault: a full disk a moment ago is no reason to hide
// that the file could not be opened anew, nor is the answer before.
func TestAFailedReopenIsToldBehindAnotherFault(t *testing.T) {
	dir, own := filepath.Join(t.TempDir(), "logs"), &ownLog{}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := New(Config{Path: filepath.Join(dir, "access.log"), Log: zerolog.New(own)})
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	l.complain(syscall.ENOSPC, "the access log cannot be written; lines are lost")
	l.complain(syscall.EIO, "the access log cannot be written; lines are lost")
	l.complain(syscall.EIO, "the access log cannot be written; lines are lost")
	if own.count("lines are lost") != 2 {
		t.Errorf("one fault hides another: %s", own.text.String())
	}
	running(t, l)
	l.Reopen()
	eventually(t, "success is told", func() bool { return own.count("was opened anew") == 1 })
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		l.Reopen()
		eventually(t, "failure is told", func() bool { return own.count("cannot be opened anew; it goes on in the old file") == i+1 })
	}
}

// TestADeletedFileIsBegunAgain: a file that no folder has keeps the disk and shows nothing.
// One that was moved away is another matter: its lines go there until a hangup.
func TestADeletedFileIsBegunAgain(t *testing.T) {
	path, own := filepath.Join(t.TempDir(), "access.log"), &ownLog{}
	l := New(Config{Path: path, Log: zerolog.New(own)})
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	defer l.out.close()
	write := func(target string) {
		l.Log(request(), target)
		l.flush()
	}
	write("/one")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write("/two")
	if text := read(t, path); !strings.Contains(text, "/two") || own.count("was deleted; another file was begun") != 1 {
		t.Errorf("file %q, log %s", text, own.text.String())
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	write("/three")
	if text := read(t, path+".old"); !strings.Contains(text, "/three") {
		t.Errorf("moved file %q", text)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	write("/four")
	if own.count("cannot be begun again") != 1 {
		t.Errorf("log %s", own.text.String())
	}
}

// TestATornLineEndsWithItsFile: only the file that has it gets a line end first.
func TestATornLineEndsWithItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	o := output{path: path}
	if err := o.open(); err != nil {
		t.Fatal(err)
	}
	defer func() { o.close() }()
	o.torn = true
	if err := o.open(); err != nil || !o.torn {
		t.Errorf("the same file: %v, torn %v", err, o.torn)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := o.open(); err != nil || o.torn {
		t.Errorf("another file: %v, torn %v", err, o.torn)
	}
}
