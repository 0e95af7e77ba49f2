//go:build !unix

package accesslog

import "os"

// unlinked is never so where nobody can delete an open file.
func unlinked(*os.File) bool { return false }
