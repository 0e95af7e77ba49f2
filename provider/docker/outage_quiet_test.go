package docker

import (
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
)

func TestUnrelatedContainerThatComesAndGoes(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		w.after(time.Second)
		puts, lines := w.puts(), w.log.count()
		asked, handed := w.e.Requests(enginetest.Inspect), w.handed()
		for range 600 { // a minute
			w.e.Remove(w.e.Run(enginetest.Container{Name: "job"}))
			w.after(100 * time.Millisecond)
		}
		w.quietly(puts, lines, 0)
		// One for each start of the job, and a resync of the three.
		if n := w.e.Requests(enginetest.Inspect) - asked; n > 600+2*3+10 {
			t.Errorf("%d inspects for 600 starts of somebody else", n)
		}
		if n := w.handed() - handed; n > 1 {
			t.Errorf("%d snapshots were handed over in a minute without a change, want the one that says that all was read again", n)
		}
	})
}

// The end of a retention while an inspect is outstanding once made the watcher spin, and
// a container that was removed while it was asked about held up every change.
func TestRetentionThatEndsWhileTheEngineIsSlow(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		w.e.Remove("a")
		w.after(DefaultRetain - 2*time.Second)
		w.e.Delay(enginetest.Inspect, 4*time.Second)
		w.e.SetHealth("b", "")
		w.after(2*time.Second + removalWait)
		w.is("http_a", "-")
	})
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		w.e.Delay(enginetest.Inspect, 3*time.Second)
		w.e.SetHealth("a", "")
		w.after(time.Second)
		w.e.Remove("a")
		w.e.Cut(true)
		w.after(10 * time.Second)
		w.e.Delay(enginetest.Inspect, 0)
		w.after(10 * time.Second)
		w.e.Run(own("d"))
		w.after(quietTime)
		w.is("http_d", w.up("d"))
	})
}

// Somebody else's container of which nothing is known any more is asked about now and
// then, not all the time.
func TestRefusedInspectsAreNotRepeatedAtOnce(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		silence(w.e)
		w.e.Run(enginetest.Container{Name: "job"})
		w.after(time.Second)
		w.e.Stop("job")
		w.e.Run(enginetest.Container{Name: "next"}) // takes its address
		w.e.Deny(enginetest.Inspect)
		before := w.e.Requests(enginetest.Inspect)
		w.after(10 * time.Minute)
		if n := w.e.Requests(enginetest.Inspect) - before; n > 4*10*60/3 {
			t.Errorf("%d inspects in ten minutes", n)
		}
	})
}

// Engines drop events for a reader that dawdles: ours waits for nothing.
func TestEventsAreTakenWhileTheEngineAnswersNothing(t *testing.T) {
	onWire(t, enginetest.Docker29, threeSites, func(w *wire) {
		w.e.Delay(enginetest.Inspect, 4*time.Second)
		w.e.Delay(enginetest.Occupants, 4*time.Second)
		w.e.Delay(enginetest.List, 4*time.Second)
		for i := range 20 { // ten times what an engine keeps for a slow reader
			for range 100 {
				w.e.Probe("a")
				w.e.SetHealth("b", "healthy")
				w.e.Emit(enginetest.Event{Type: "network", Action: "connect", ID: enginetest.HexID("network bridge"), Attrs: map[string]string{"container": "x"}})
			}
			w.after(time.Millisecond)
			if i == 10 {
				w.e.Cut(true)
			}
		}
		w.after(time.Minute)
		if n := w.e.Dropped(); n != 0 {
			t.Errorf("%d events were dropped", n)
		}
		w.is("http_b", w.up("b"))
	})
}

func TestEventsWithoutAChangeHandOverNothing(t *testing.T) {
	onWire(t, enginetest.Docker29, threeSites, func(w *wire) {
		handed, asked := w.handed(), w.e.Requests(enginetest.Inspect)
		for range 50 {
			w.e.SetHealth("a", "")
			w.e.Signal("b", "1")
			w.after(time.Second)
		}
		if n := w.handed() - handed; n != 0 {
			t.Errorf("%d snapshots for nothing", n)
		}
		if n := w.e.Requests(enginetest.Inspect) - asked; n != 50 {
			t.Errorf("%d inspects for 50 events that may be news", n)
		}
	})
}
