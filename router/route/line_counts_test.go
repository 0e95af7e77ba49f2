package route

import "testing"

// TestLineCounts: whoever joins has waited; whoever finds no place, or tires of waiting,
// was turned away.
func TestLineCounts(t *testing.T) {
	var l Line
	first, _ := l.Join(1)
	if _, ok := l.Join(1); ok {
		t.Fatal("two requests in one place")
	}
	l.Leave(first)
	second, _ := l.Join(1)
	l.Tire()
	l.Leave(second)
	if waits, turned := l.Counts(); waits != 2 || turned != 2 {
		t.Errorf("%d waited, %d turned away", waits, turned)
	}
}
