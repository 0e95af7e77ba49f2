package docker

import (
	"os"
	"syscall"
)

// socketFile identifies the file behind a unix socket's path. The zero value is no file.
type socketFile struct {
	path        string
	dev, ino    uint64
	links       uint64
	established bool
}

// statSocket looks at the file behind a path.
func statSocket(path string) socketFile {
	info, err := os.Stat(path)
	if err != nil {
		return socketFile{}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return socketFile{}
	}
	return socketFile{path: path, dev: uint64(st.Dev), ino: st.Ino, links: uint64(st.Nlink), established: true} //nolint:unconvert // the types differ by platform
}

// replaced reports whether the path names another file by now. A path that names none
// at the moment is not replaced yet: an engine that restarts removes its socket first.
func (f socketFile) replaced() bool {
	if !f.established {
		return false
	}
	now := statSocket(f.path)
	return now.established && (now.dev != f.dev || now.ino != f.ino)
}

// dead reports whether no directory names the file any more: nobody will ever listen on
// it again. That is what a socket mounted as a file looks like once its engine has made
// a new one.
func (f socketFile) dead() bool { return f.established && f.links == 0 }
