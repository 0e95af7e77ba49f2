package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead/api"
)

// full is a writer that takes nothing.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// TestOutputThatCannotBeWritten is a failure of every command, with one line that says
// so; a reader that has seen enough is none.
func TestOutputThatCannotBeWritten(t *testing.T) {
	router := &following{t: t, events: api.NewEvents()}
	router.events.Transition(changeOf("http_api", "up", "down"))
	router.serve("127.0.0.1:0")
	defer router.stop()
	env := []string{"FAIRLEAD_ADMIN=" + router.addr}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, args := range [][]string{
		{"version"}, {"--help"}, {"explain"}, {"explain", "--json"}, {"completion", "bash"}, {"events", "--since", "0"}, {"events", "--since", "0", "--json"},
	} {
		var errOut bytes.Buffer
		code := Main(ctx, args, Streams{In: strings.NewReader(""), Out: full{syscall.ENOSPC}, Err: &errOut, Env: env})
		if code != exitFailed || strings.Count(errOut.String(), "\n") != 1 || !strings.HasPrefix(errOut.String(), "error: ") || !strings.Contains(errOut.String(), "cannot be written") {
			t.Errorf("%v: exit %d, %q", args, code, errOut.String())
		}
		errOut.Reset()
		if code := Main(ctx, args, Streams{In: strings.NewReader(""), Out: full{errors.Join(syscall.EPIPE)}, Err: &errOut, Env: env}); code > exitFailed || errOut.Len() > 0 {
			t.Errorf("%v into a closed pipe: exit %d, %q", args, code, errOut.String())
		}
	}
	if ctx.Err() != nil {
		t.Error("one of them does not end by itself")
	}
}
