package file

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"fairlead/provider"
	"fairlead/router/route"
)

// Pace of the watch. The slow look catches what no event told: network file systems,
// a directory that was replaced, a lost event.
const (
	quiet       = 100 * time.Millisecond // after the last event
	longest     = time.Second            // after the first one
	slowLook    = 10 * time.Second
	unwatched   = time.Second // while there is no watch
	eventBuffer = 64
)

// Run reads the file and puts a snapshot, then another one whenever the file or its
// state changed, until ctx ends; it returns nil then. The directory is watched
// rather than the file, since editors and Kubernetes replace files.
func (p *Provider) Run(ctx context.Context, out *provider.Mailbox) error {
	w := &watch{cfg: p.cfg, state: newState(p.cfg, time.Now()), out: out}
	defer w.close()
	w.open()
	w.look()
	return w.run(ctx)
}

// watch follows one file. It is owned by one goroutine.
type watch struct {
	cfg     Config
	state   *state
	out     *provider.Mailbox
	watcher *fsnotify.Watcher
	dir     os.FileInfo // the directory that is watched, nil while none is
	told    string      // the last reason for having no watch
	seen    os.FileInfo // the file as it was last read, nil when it was not
	first   time.Time   // of the events that are waiting, zero when none is
}

func (w *watch) run(ctx context.Context) error {
	settle := time.NewTimer(time.Hour)
	settle.Stop()
	slow := time.NewTimer(w.pace())
	defer settle.Stop()
	defer slow.Stop()
	for {
		events, errs := w.channels()
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events:
			if !ok {
				w.lost("the watch ended")
				slow.Reset(w.pace())
			} else if w.concerns(e) {
				settle.Reset(w.wait(time.Now()))
			}
		case err := <-errs:
			// Events may be missing: the list is the truth, so look.
			w.cfg.Log.Debug().Str(route.FieldProvider, Name).Err(err).Msg("file watch")
			settle.Reset(w.wait(time.Now()))
		case <-settle.C:
			w.first = time.Time{}
			w.open()
			w.look()
			slow.Reset(w.pace())
		case <-slow.C:
			w.open()
			if w.changed() {
				w.look()
			}
			slow.Reset(w.pace())
		}
	}
}

// wait is the time until the events have settled: quiet after each, longest in all.
func (w *watch) wait(now time.Time) time.Duration {
	if w.first.IsZero() {
		w.first = now
	}
	return max(min(quiet, w.first.Add(longest).Sub(now)), 0)
}

// pace is how long the slow look waits.
func (w *watch) pace() time.Duration {
	if w.dir == nil {
		return unwatched
	}
	return slowLook
}

func (w *watch) channels() (<-chan fsnotify.Event, <-chan error) {
	if w.watcher == nil {
		return nil, nil
	}
	return w.watcher.Events, w.watcher.Errors
}

// open watches the directory of the file, again when it is another one than before.
func (w *watch) open() {
	dir := filepath.Dir(w.cfg.Path)
	info, err := os.Stat(dir)
	if err != nil {
		w.lost("the directory of the file cannot be watched: " + readError(dir, err).Error())
		return
	}
	if w.dir != nil && os.SameFile(w.dir, info) {
		return
	}
	w.close()
	watcher, err := fsnotify.NewBufferedWatcher(eventBuffer)
	if err != nil {
		w.lost("no watch: " + err.Error())
		return
	}
	if err := watcher.Add(dir); err != nil {
		_ = watcher.Close()
		w.lost("no watch: " + err.Error())
		return
	}
	w.watcher, w.dir, w.told = watcher, info, ""
}

// lost ends the watch; the file is looked at every second instead.
func (w *watch) lost(why string) {
	w.close()
	if w.told != why {
		w.told = why
		w.cfg.Log.Warn().Str(route.FieldProvider, Name).Str(route.FieldReason, why).Dur("every", unwatched).Msg("file is polled")
	}
}

func (w *watch) close() {
	if w.watcher != nil {
		_ = w.watcher.Close() // ends its goroutine
	}
	w.watcher, w.dir = nil, nil
}

// concerns reports whether an event may be about the file: about its name, about
// one of the links by which Kubernetes swaps volumes, or about the directory.
func (w *watch) concerns(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return filepath.Base(e.Name) == filepath.Base(w.cfg.Path)
	}
	if e.Name == filepath.Dir(w.cfg.Path) {
		w.dir = nil // gone or moved: look for the one that takes its place
		return true
	}
	name := filepath.Base(e.Name)
	if name == filepath.Base(w.cfg.Path) || strings.HasPrefix(name, "..") {
		return true
	}
	info, err := os.Lstat(w.cfg.Path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// changed reports whether the file is not the one that was read.
func (w *watch) changed() bool {
	info, err := os.Stat(w.cfg.Path)
	if err != nil || w.seen == nil {
		return true
	}
	return !os.SameFile(info, w.seen) || !info.ModTime().Equal(w.seen.ModTime()) || info.Size() != w.seen.Size()
}

// look reads the file and tells what is new.
func (w *watch) look() {
	w.seen, _ = os.Stat(w.cfg.Path) // before reading: a change in between is seen next time
	text, err := read(w.cfg.Path)
	if w.state.update(text, err, time.Now()) {
		w.out.Put(w.state.snapshot())
	}
}
