//go:build unix

package accesslog

import (
	"os"
	"syscall"
)

// unlinked reports whether no folder has the file any more.
func unlinked(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
