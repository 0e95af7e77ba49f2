package cli

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty opens a pseudo terminal: what a person types into, and what the program has.
func pty(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// typing runs hash-password on a terminal and types each line when it is asked for it.
func typing(t *testing.T, ctx context.Context, lines ...string) (r result, echo bool) {
	t.Helper()
	person, program := pty(t)
	var out, errOut buffer
	done := make(chan int, 1)
	go func() {
		done <- Main(ctx, []string{"hash-password", "--bcrypt"}, Streams{In: program, Out: &out, Err: &errOut})
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(time.Minute) // bcrypt under the race detector, on a busy machine
	defer deadline.Stop()
	prompts := []string{"Password: ", "Again: "}
	for {
		select {
		case code := <-done:
			return result{code, out.String(), errOut.String()}, echoes(t, program)
		case <-deadline.C:
			t.Fatalf("it does not end: %s", errOut.String())
		case <-tick.C:
		}
		if len(lines) > 0 && strings.HasSuffix(errOut.String(), prompts[0]) && !echoes(t, program) {
			if _, err := person.WriteString(lines[0] + "\n"); err != nil {
				t.Fatal(err)
			}
			lines, prompts = lines[1:], prompts[1:]
		}
	}
}

func TestPasswordIsTypedUnseen(t *testing.T) {
	r, echo := typing(t, t.Context(), canary, canary)
	if r.code != exitOK || !strings.HasPrefix(r.out, "$2a$") || !echo || strings.Contains(r.all(), canary) {
		t.Errorf("%d %s %s, the terminal echoes: %t", r.code, r.out, r.err, echo)
	}
	r, echo = typing(t, t.Context(), canary, canary+"x")
	if r.code != exitFailed || !strings.Contains(r.err, "differ") || r.out != "" || !echo {
		t.Errorf("%d %s %s, the terminal echoes: %t", r.code, r.out, r.err, echo)
	}
}

// TestInterruptedTypingLeavesTheTerminalAsItWas: a shell that shows nothing of what is
// typed looks broken.
func TestInterruptedTypingLeavesTheTerminalAsItWas(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, echo := typing(t, ctx)
	if r.code != exitFailed || !strings.Contains(r.err, "interrupted") || !echo {
		t.Errorf("%d %s, the terminal echoes: %t", r.code, r.err, echo)
	}
}
