package docker

import (
	"strconv"
	"strings"
	"syscall"
	"time"
)

// defaultStopTimeout is how long engines wait between the stop signal and KILL.
const defaultStopTimeout = 10 * time.Second

// Limits of Linux real-time signals, which systemd images stop with (SIGRTMIN+3).
const (
	signalRTMin = 34
	signalRTMax = 64
)

// stops reports whether a kill event with this signal begins the end of a container
// with this stop signal: KILL always, else only its own stop signal. A reload by HUP
// is no end.
func stops(signal, stopSignal string) bool {
	n, ok := signalNumber(signal)
	if !ok {
		return false
	}
	want, ok := signalNumber(stopSignal)
	if !ok {
		want = int(syscall.SIGTERM)
	}
	return n == want || n == int(syscall.SIGKILL)
}

// signalNumber reads "15", "TERM", "SIGTERM" or "SIGRTMIN+3".
func signalNumber(s string) (int, bool) {
	s = strings.ToUpper(strings.TrimSpace(s))
	if n, err := strconv.Atoi(s); err == nil {
		return n, n > 0 && n <= signalRTMax
	}
	s = strings.TrimPrefix(s, "SIG")
	if offset, ok := strings.CutPrefix(s, "RTMIN"); ok {
		return realtime(signalRTMin, offset)
	}
	if offset, ok := strings.CutPrefix(s, "RTMAX"); ok {
		return realtime(signalRTMax, offset)
	}
	switch s {
	case "HUP":
		return int(syscall.SIGHUP), true
	case "INT":
		return int(syscall.SIGINT), true
	case "QUIT":
		return int(syscall.SIGQUIT), true
	case "ABRT":
		return int(syscall.SIGABRT), true
	case "KILL":
		return int(syscall.SIGKILL), true
	case "USR1":
		return int(syscall.SIGUSR1), true
	case "USR2":
		return int(syscall.SIGUSR2), true
	case "PIPE":
		return int(syscall.SIGPIPE), true
	case "ALRM":
		return int(syscall.SIGALRM), true
	case "TERM":
		return int(syscall.SIGTERM), true
	case "WINCH":
		return int(syscall.SIGWINCH), true
	case "PWR":
		return int(syscall.SIGPWR), true
	}
	return 0, false
}

func realtime(base int, offset string) (int, bool) {
	if offset == "" {
		return base, true
	}
	n, err := strconv.Atoi(offset)
	if err != nil || base+n < signalRTMin || base+n > signalRTMax {
		return 0, false
	}
	return base + n, true
}
