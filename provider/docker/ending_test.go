package docker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
)

func TestEndings(t *testing.T) {
	for want, in := range map[string]inspected{
		"":                       {Status: statusRunning, ExitCode: 1, Restarts: 7},
		"ended with exit code 0": {Status: statusExited},
		"ended with exit code 3": {Status: statusDead, ExitCode: 3},
		"ended with exit code 137 (out of memory), restarted once": {Status: statusExited, ExitCode: 137, OOMKilled: true, Restarts: 1},
		"ended with exit code 1, restarted 3 times":                {Status: statusRestarting, ExitCode: 1, Restarts: 3},
		"ended with exit code 1, restarted more than 3 times":      {Status: statusRestarting, ExitCode: 1, Restarts: 4},
		"ended with exit code 1, restarted 5 times":                {Status: statusRestarting, ExitCode: 1, Restarts: 5},
		"ended with exit code 1, restarted more than 500 times":    {Status: statusRestarting, ExitCode: 1, Restarts: 999},
		"could not be started: no such file, restarted 10 times":   {Status: statusRestarting, ExitCode: 127, Error: "no such\n file", Restarts: 10},
	} {
		if got := ending(in); got != want {
			t.Errorf("%+v: %q, want %q", in, got, want)
		}
	}
	if long := ending(inspected{Status: statusExited, Error: strings.Repeat("é", 500)}); len(long) > 240 || !strings.HasSuffix(long, "...") {
		t.Errorf("a long error became %q", long)
	}
}

// A restart loop is shown as one, with how it ends and how often it was started again,
// and costs nobody else anything: neither a change, nor an inspect, nor the log.
func TestRestartLoopIsShownAndCostsNobodyElseAnything(t *testing.T) {
	for _, style := range []enginetest.Style{enginetest.Docker20, enginetest.Docker29} {
		onWire(t, style, threeSites, func(w *wire) {
			w.e.Run(own("loop"))
			w.after(time.Second)
			before := w.last()
			lines, inspects, puts := w.log.count(), w.e.Requests(enginetest.Inspect), w.puts()
			pause := 100 * time.Millisecond
			for i := range 40 { // as engines do: the pauses double up to a minute
				w.e.Crash("loop")
				w.after(pause)
				if i == 9 {
					w.is("http_loop", "loop(restarting)")
					if got := w.last().Entrypoints[3].Absent[0].Detail; got != "ended with exit code 1, restarted 10 times" {
						t.Errorf("detail %q", got)
					}
				}
				w.e.Start("loop")
				w.after(500 * time.Millisecond)
				pause = min(2*pause, time.Minute)
			}
			for i, e := range before.Entrypoints[:3] {
				if !equalEntrypoint(e, w.last().Entrypoints[i]) {
					t.Errorf("%s changed", e.ID)
				}
			}
			if n := w.log.count() - lines; n != 0 {
				t.Errorf("%d lines of log:\n%s", n, w.log)
			}
			resyncs := w.e.Requests(enginetest.List) - 1
			if n := w.e.Requests(enginetest.Inspect) - inspects; n > 40*4+4*resyncs {
				t.Errorf("%d inspects for 40 crashes and %d resyncs", n, resyncs)
			}
			if n := w.puts() - puts; n > 40*3 {
				t.Errorf("%d snapshots for 40 crashes", n)
			}
		})
	}
}

// Twenty loops among others change their own entrypoints only.
func TestManyRestartLoops(t *testing.T) {
	onWire(t, enginetest.Docker20, func(e *enginetest.Engine) {
		threeSites(e)
		for i := range 20 {
			e.Run(own(fmt.Sprintf("loop%02d", i)))
		}
	}, func(w *wire) {
		want := describeOthers(w.last().Entrypoints)
		puts := w.puts()
		for range 60 {
			for i := range 20 {
				w.e.Crash(fmt.Sprintf("loop%02d", i))
			}
			w.after(time.Second)
			for i := range 20 {
				w.e.Start(fmt.Sprintf("loop%02d", i))
			}
			w.after(time.Second)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, s := range w.all[puts:] {
			if got := describeOthers(s.Entrypoints); got != want {
				t.Fatalf("another one's entrypoint changed from %s to %s", want, got)
			}
		}
		// Each round goes out as a few snapshots for all twenty.
		if n := len(w.all) - puts; n > 60*6 {
			t.Errorf("%d snapshots for 60 rounds", n)
		}
	})
}
