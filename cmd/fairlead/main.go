// Command fairlead is a Docker-label-driven edge router.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"

	"fairlead/cmd/internal/cli"
)

func main() { os.Exit(run()) }

// run turns the first signal into the end of the context, and the second one into
// the end of the process.
func run() int {
	zerolog.MessageFieldName = "msg" // a health line has a field "message" of its own
	// net/http writes bytes of a backend's surplus answer here; they must be in no log.
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup keeps what it says
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		cancel()
		second := <-signals
		fmt.Fprintln(os.Stderr, "fairlead: second signal: ending at once; requests in flight are cut")
		os.Exit(signalled(second))
	}()
	return cli.Main(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Lasting: lasting})
}

// lasting is for a router: neither a terminal that is closed nor a reader of its logs
// that ends may take the traffic with it. It returns the hangups that come from now on.
func lasting() <-chan os.Signal {
	signal.Ignore(syscall.SIGPIPE) // whoever writes counts what was not written
	signal.Reset(syscall.SIGHUP)   // it ends nothing any more
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// signalled is the exit code of a process that a signal ended, as shells give it.
func signalled(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 1
}
