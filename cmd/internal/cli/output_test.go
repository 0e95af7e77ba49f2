package cli

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"
)

// full is a writer that takes nothing.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// TestOutputThatCannotBeWritten is a failure of every command, with one line that says
// so; a reader that has seen enough is none.
func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--help"}, {"explain"}, {"explain", "--json"}, {"completion", "bash"}} {
		var errOut bytes.Buffer
		code := Main(t.Context(), args, Streams{In: strings.NewReader(""), Out: full{syscall.ENOSPC}, Err: &errOut})
		if code != exitFailed || strings.Count(errOut.String(), "error: ") != 1 || !strings.Contains(errOut.String(), "cannot be written") {
			t.Errorf("%v: exit %d, %q", args, code, errOut.String())
		}
		errOut.Reset()
		if code := Main(t.Context(), args, Streams{In: strings.NewReader(""), Out: full{errors.Join(syscall.EPIPE)}, Err: &errOut}); code > exitFailed || errOut.Len() > 0 {
			t.Errorf("%v into a closed pipe: exit %d, %q", args, code, errOut.String())
		}
	}
}
