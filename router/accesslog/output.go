package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// output is where lines go: a file that is rotated, or a stream. It belongs to one
// goroutine after open.
type output struct {
	path   string
	stream io.Writer
	limit  int64
	keep   int

	file *os.File
	info fs.FileInfo // of the file when it was opened
	size int64
	torn bool // the last line is not whole
}

// open opens the file, or opens it anew; when that fails the old one stays. It never
// waits: who opens a FIFO otherwise waits for its reader.
func (o *output) open() error {
	if o.path == "" {
		return nil
	}
	file, err := os.OpenFile(o.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o640) //nolint:gosec // who collects logs is in the group
	if errors.Is(err, syscall.ENXIO) {
		err = unopened(o.path, err)
	}
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	o.torn = o.torn && o.info != nil && os.SameFile(o.info, info)
	o.close()
	o.file, o.info, o.size = file, info, info.Size()
	return nil
}

// unopened says what is wrong with a path that nobody could open.
func unopened(path string, err error) error {
	if info, fault := os.Stat(path); fault == nil {
		switch {
		case info.Mode()&fs.ModeNamedPipe != 0:
			return fmt.Errorf("nobody reads the FIFO %s; start its reader first: %w", path, err)
		case info.Mode()&fs.ModeSocket != 0:
			return fmt.Errorf("%s is a socket; lines go to a file, a FIFO or standard output: %w", path, err)
		}
	}
	return err
}

// deleted reports whether somebody has deleted the file: what is written to it is lost,
// and fills the disk until the end.
func (o *output) deleted() bool {
	return o.file != nil && o.info.Mode().IsRegular() && unlinked(o.file)
}

func (o *output) close() {
	if o.file != nil {
		_ = o.file.Close() // every write was checked
		o.file = nil
	}
}

// write writes whole lines and says how many of them were lost.
func (o *output) write(block []byte) (lost uint64, err error) {
	if o.path == "" {
		return o.put(o.stream, block)
	}
	for len(block) > 0 {
		part := o.fitting(block)
		if len(part) == 0 {
			if fault := o.rotate(); fault != nil {
				err = errors.Join(err, fault)
				part = block // rather too long than lost
			} else {
				continue
			}
		}
		block = block[len(part):]
		n, fault := o.put(o.file, part)
		lost, err = lost+n, errors.Join(err, fault)
	}
	return lost, err
}

// fitting is the part of a block that still has room in the file; a line has always
// room in an empty one, and all of it in what is no file.
func (o *output) fitting(block []byte) []byte {
	room := o.limit - o.size
	if o.limit <= 0 || int64(len(block)) <= room || o.info != nil && !o.info.Mode().IsRegular() {
		return block
	}
	if end := bytes.LastIndexByte(block[:max(room, 0)], '\n'); end >= 0 {
		return block[:end+1]
	}
	if o.size == 0 {
		return block[:bytes.IndexByte(block, '\n')+1]
	}
	return nil
}

// put writes to a writer; a line of which a part was written is lost and ends there.
func (o *output) put(w io.Writer, block []byte) (lost uint64, err error) {
	if o.file == nil && o.path != "" {
		return uint64(bytes.Count(block, []byte{'\n'})), fs.ErrClosed
	}
	first := 0 // where our lines begin
	if o.torn {
		block, first = append([]byte{'\n'}, block...), 1
	}
	n, err := w.Write(block)
	o.size += int64(n)
	o.torn = err != nil && (o.torn && n == 0 || n > 0 && block[n-1] != '\n')
	return uint64(bytes.Count(block[max(n, first):], []byte{'\n'})), err
}

// rotate sets the file aside and begins another one.
func (o *output) rotate() error {
	if info, err := o.file.Stat(); err == nil && info.Size() < o.size {
		o.size = info.Size() // somebody has cut it
		if o.size < o.limit/2 {
			return nil
		}
	}
	for i := o.keep - 1; i >= 1; i-- {
		err := os.Rename(o.path+"."+strconv.Itoa(i), o.path+"."+strconv.Itoa(i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("setting the access log aside: %w", err)
		}
	}
	if err := os.Rename(o.path, o.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("setting the access log aside: %w", err)
	}
	return o.open()
}
