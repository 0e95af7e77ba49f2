// Command app is the process of the containers that the tests start: it listens on
// $PORT (80) and exits at once on TERM; `app crash` fails instead.
package main

import (
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "crash" {
		os.Exit(1)
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "80"
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	signal.Ignore(syscall.SIGHUP)
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		os.Exit(2)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	<-signals
}
