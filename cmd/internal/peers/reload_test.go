package peers

import "testing"

// TestPassiveOfARunningRoute: passive.* is obeyed at once by the backends that are there,
// and so is its removal.
func TestPassiveOfARunningRoute(t *testing.T) {
	run(t, 2, "", func(w *world) {
		w.at(2 * sec)
		w.apps[1].status.Store(503)
		visits := func() int64 {
			w.pages()
			for range 20 {
				w.get()
			}
			return w.pages()[1]
		}
		if got := visits(); got != 10 {
			t.Errorf("without passive: %d of 20 requests reached it", got)
		}
		w.relabel("passive.failures=2")
		if got := visits(); got != 2 {
			t.Errorf("passive.failures=2: %d requests reached it", got)
		}
		w.wantServing("1")
		w.relabel("")
		w.wantServing("1 2")
		if got := visits(); got != 10 {
			t.Errorf("passive off again: %d of 20 requests reached it", got)
		}
		w.relabel("passive.failures=5")
		w.relabel("passive.failures=3")
		if got := visits(); got != 3 {
			t.Errorf("passive.failures=3: %d requests reached it", got)
		}
	})
}
