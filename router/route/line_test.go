package route

import (
	"sync"
	"testing"
)

func hasTurn(p *Place) bool {
	select {
	case <-p.Turn():
		return true
	default:
		return false
	}
}

// TestLineIsFirstComeFirstServed: only the first one is woken, and who leaves passes the
// turn on.
func TestLineIsFirstComeFirstServed(t *testing.T) {
	var l Line
	l.Wake() // nobody is there
	var places []*Place
	for range 3 {
		p, ok := l.Join(3)
		if !ok {
			t.Fatal("no place in an empty line")
		}
		places = append(places, p)
	}
	if _, ok := l.Join(3); ok || l.Waiting() != 3 {
		t.Errorf("a fourth of three places, %d waiting", l.Waiting())
	}
	if !hasTurn(places[0]) || hasTurn(places[1]) || hasTurn(places[2]) {
		t.Error("the first one looks once more when it joins, nobody else does")
	}
	l.Wake()
	l.Wake()
	if !hasTurn(places[0]) || hasTurn(places[0]) || hasTurn(places[1]) {
		t.Error("two words are one turn of the first one")
	}
	l.Leave(places[1]) // gave up in the middle: the first one may look, that costs little
	hasTurn(places[0])
	l.Leave(places[0])
	if !hasTurn(places[2]) {
		t.Error("the turn was not passed on")
	}
	l.Leave(places[2])
	l.Leave(places[2])
	if l.Waiting() != 0 {
		t.Errorf("%d waiting", l.Waiting())
	}
	if _, ok := l.Join(0); ok {
		t.Error("a place in a line of no size")
	}
}

// TestStoreWakesTheLine: another rotation may have room.
func TestStoreWakesTheLine(t *testing.T) {
	var cell RotationCell
	p, _ := cell.Line.Join(1)
	hasTurn(p)
	cell.Store(NewRotation(1, TierVerified, nil))
	if !hasTurn(p) {
		t.Error("nobody was told")
	}
}

// TestLineUnderLoad: with one slot and many requests each gets it, in the end.
func TestLineUnderLoad(t *testing.T) {
	var l Line
	slot := make(chan struct{}, 1)
	slot <- struct{}{}
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			p, ok := l.Join(200)
			if !ok {
				t.Error("no place")
				return
			}
			for range p.Turn() {
				select {
				case <-slot:
				default:
					continue
				}
				break
			}
			l.Leave(p)
			slot <- struct{}{}
			l.Wake()
		})
	}
	wg.Wait()
	if l.Waiting() != 0 {
		t.Errorf("%d waiting", l.Waiting())
	}
}
