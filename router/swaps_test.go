package router

import "testing"

// TestSwapsAreCounted: a snapshot that changes nothing is none.
func TestSwapsAreCounted(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		for range 2 {
			r.send("docker", entrypoint(t, "http_a", "a.example"))
		}
		r.send("docker", entrypoint(t, "http_a", "a.example"), entrypoint(t, "http_b", "b.example"))
		if n, took := r.Swaps(); n != 2 || took < 0 {
			t.Errorf("%d swaps in %v, want 2", n, took)
		}
	})
}
