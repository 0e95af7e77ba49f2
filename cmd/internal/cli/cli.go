// Package cli holds the commands of the fairlead program, one file for each. They
// read from and write to what Main is given, so tests run the whole program in
// process.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"fairlead/cmd/internal/config"
)

// Exit codes; `route resolve` and `health` add meanings of their own to 1 and 2.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 3
	exitUnreachable = 4
)

// Streams is the world of one run.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string // NAME=value, as os.Environ gives it
	// Lasting makes the process outlive its terminal and the readers of its output, for
	// serve alone; it returns the hangups. nil: none come.
	Lasting func() <-chan os.Signal
}

// program is one run.
type program struct {
	Streams
	admin string // --admin of the commands that ask a router
	json  bool
	// counted: the result of a probe by order counts (--apply).
	counted bool
	exit    int // of a command that succeeded in saying something bad
}

// failure ends a run: what happened, what to do, and the exit code.
type failure struct {
	code    int
	message string // may have several lines
	fix     string
	cause   error // may be nil
	denied  bool  // the router does not let this user in (401, 403)
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// Error implements error in one line.
func (f *failure) Error() string {
	if f.fix == "" {
		return f.message
	}
	return f.message + ": " + f.fix
}

func usage(fix, format string, args ...any) error {
	return &failure{code: exitUsage, message: fmt.Sprintf(format, args...), fix: fix}
}

func failed(fix, format string, args ...any) error {
	return &failure{code: exitFailed, message: fmt.Sprintf(format, args...), fix: fix}
}

// Main runs the program with the arguments behind its name and returns the exit
// code. It ends soon after ctx does.
func Main(ctx context.Context, args []string, s Streams) int {
	out := &output{w: s.Out}
	s.Out = out
	code := run(ctx, args, s)
	if out.err == nil || errors.Is(out.err, syscall.EPIPE) { // whoever closed a pipe has seen enough
		return code
	}
	(&program{Streams: s}).complain(&failure{message: "the output cannot be written: " + out.err.Error()})
	return cmp.Or(code, exitFailed)
}

// output remembers that it could not be written: a run that nobody can read has failed.
type output struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

func run(ctx context.Context, args []string, s Streams) int {
	p := &program{Streams: s}
	root := p.root() //nolint:contextcheck // cobra hands the context over, see ExecuteContext
	fitHelp(root, p.style(s.Out))
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return p.exit
	}
	if o, ok := s.Out.(*output); ok && o.err != nil {
		return exitFailed // Main says why
	}
	if problems := config.AsProblems(err); problems != nil {
		for _, problem := range problems {
			p.complain(&failure{message: problem.Title(), fix: problem.Fix})
		}
		return problemsExit(err, problems)
	}
	var f *failure
	if !errors.As(err, &f) {
		// Everything that is not a failure comes from cobra: words and flags that it does not know.
		f = &failure{code: exitUsage, message: strings.TrimSpace(err.Error()), fix: "see " + commandPath(root, args) + " --help"}
	}
	p.complain(f)
	return f.code
}

// problemsExit is the exit code of wrong settings: a wrong flag is wrong usage, and so
// is any mistake in what a command was told besides what it judges.
func problemsExit(err error, problems config.Problems) int {
	if _, misled := errors.AsType[*misledError](err); misled {
		return exitUsage
	}
	if slices.ContainsFunc(problems, func(p config.Problem) bool { return strings.HasPrefix(p.Where, "--") }) {
		return exitUsage
	}
	return exitFailed
}

// commandPath names the command that args mean, as far as they mean one.
func commandPath(root *cobra.Command, args []string) string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd == nil {
		return root.CommandPath()
	}
	return cmd.CommandPath()
}

// complain writes an error: one line, and one line of what to do.
func (p *program) complain(f *failure) {
	if f.message == "" {
		return // its cause was said
	}
	s := p.style(p.Err).line()
	const indent = "       "
	first, rest, more := strings.Cut(f.message, "\n")
	_, _ = fmt.Fprintln(p.Err, s.behind(s.bad("error:")+" ", len(indent), indent, first))
	if more {
		_, _ = fmt.Fprintln(p.Err, s.sentence(indent, rest))
	}
	if f.fix != "" {
		_, _ = fmt.Fprintln(p.Err, s.sentence(indent, f.fix))
	}
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "An edge router that reads container labels, probes every backend and says why",
		Long: `Fairlead watches the container engine, turns labels into routes, probes every
backend, keeps traffic on those that can serve, and can always say why.

Commands that ask a running router find it at --admin or FAIRLEAD_ADMIN, else at
http://127.0.0.1:3035, and send FAIRLEAD_USER and FAIRLEAD_PASSWORD.

Exit codes: 0 done, 1 failed, 3 wrong usage, 4 router not reachable, or it lets this
user read nothing (401, 403); route resolve, health and what is asked of backends
(orders, probe) say more with 1 and 2 (see their help).`,
		Example: `  fairlead demo                                      a router and sick backends, to try all of this
  fairlead doctor                                    what is in the way on this machine
  fairlead serve                                     run the router
  fairlead route resolve http://app.example.com/v1   which route takes a request, and why
  fairlead health                                    every entrypoint, every backend
  fairlead validate                                  what the engine's labels amount to
  fairlead explain E001                              cause, effect and fix of a code`,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate(versionLine())
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("see "+cmd.CommandPath()+" --help", "%v", err)
	})
	root.AddCommand(p.serveCommand(), p.routeCommand(), p.healthCommand(), p.explainCommand(), p.validateCommand(), p.eventsCommand(),
		p.hashPasswordCommand(), p.healthcheckCommand(), p.demoCommand(), p.doctorCommand(), p.probeCommand(), p.versionCommand(), p.whoamiCommand())
	root.AddCommand(p.orderCommands()...)
	root.SetOut(p.Out) // completion keeps the one that it is made with
	ownHelp(root)
	return root
}

// lookup returns an environment variable, "" when it is not set.
func (p *program) lookup(name string) string {
	for _, item := range slices.Backward(p.Env) {
		if value, ok := strings.CutPrefix(item, name+"="); ok {
			return value
		}
	}
	return ""
}

// terminal reports whether w is a terminal, or another device of characters.
func terminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
