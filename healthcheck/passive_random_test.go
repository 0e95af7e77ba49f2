package healthcheck

import (
	"math/rand/v2"
	"testing"
	"time"

	"fairlead/router/route"
)

// crowd is a few placements that share one cap, as the engine keeps them.
type crowd struct {
	rules   passiveRules
	states  []passive
	now     time.Time
	tickets [][]attempt // on their way, by placement
}

// attempt is a ticket and when it was handed out.
type attempt struct {
	ticket route.Ticket
	at     time.Time
}

// word is what the engine would say about placement i: all are verified primaries.
func (c *crowd) word(i int, dice *rand.Rand) word {
	out := 0
	for n := range c.states {
		if n != i && c.states[n].phase != route.PhaseClosed {
			out++
		}
	}
	w := word{given: true, chance: dice.Float64()}
	switch {
	case out == len(c.states)-1:
		w.blocked = blockedLast
	case out > 0 && (out+1)*100 > c.rules.MaxEjectionPercent*len(c.states):
		w.blocked = blockedCap
	}
	return w
}

func (c *crowd) begin(i int) bool {
	s, t, ok := c.states[i].begin(&c.rules, c.now)
	c.states[i] = s
	if ok {
		c.tickets[i] = append(c.tickets[i], attempt{t, c.now})
	}
	return ok
}

// end ends one of the attempts on their way, in any order, or loses its outcome.
func (c *crowd) end(i int, dice *rand.Rand, o *route.Outcome, lost bool) {
	list := c.tickets[i]
	if len(list) == 0 {
		return
	}
	k := dice.IntN(len(list))
	t := list[k].ticket
	list[k] = list[len(list)-1]
	c.tickets[i] = list[:len(list)-1]
	if !lost {
		c.states[i], _ = c.states[i].end(&c.rules, t, o, c.now, c.word(i, dice))
	}
}

func (c *crowd) pass(d time.Duration) {
	c.now = c.now.Add(d)
	for i := range c.states {
		c.states[i], _ = c.states[i].tick(&c.rules, c.now)
	}
}

// liveTrials counts the trials on their way since the placement is on trial, but those
// that were given up.
func (c *crowd) liveTrials(i int) (n int) {
	for _, a := range c.tickets[i] {
		if a.ticket.Lease != 0 && a.ticket.Epoch == c.states[i].epoch && c.now.Sub(a.at) < c.rules.lease {
			n++
		}
	}
	return n
}

func (c *crowd) allOut() bool {
	for i := range c.states {
		if c.states[i].phase == route.PhaseClosed {
			return false
		}
	}
	return true
}

func randomCrowd(dice *rand.Rand) *crowd {
	r := passiveRules{Passive: route.DefaultPassive(), heal: 1 + dice.IntN(3), tells: dice.IntN(2) == 0, lease: minLease}
	r.Failures, r.Trials, r.MaxEjectionPercent = 1+dice.IntN(4), 1+dice.IntN(3), 1+dice.IntN(100)
	r.Recovery = []route.Recovery{route.RecoverAuto, route.RecoverTime, route.RecoverProbe, route.RecoverTrial}[dice.IntN(4)]
	if dice.IntN(3) == 0 {
		r.Window = time.Duration(1+dice.IntN(20)) * time.Second
	}
	n := 1 + dice.IntN(6)
	c := &crowd{rules: r, now: t0, states: make([]passive, n), tickets: make([][]attempt, n)}
	for i := range c.states {
		c.states[i] = newPassive()
	}
	return c
}

// TestPassiveAtRandom: never are all ejected, never are there two live trials, and nothing
// stays ejected for ever, even if outcomes are lost.
func TestPassiveAtRandom(t *testing.T) {
	const rounds, steps = 3000, 400
	outcomes := []route.Outcome{{Status: 503}, {Status: 503}, {Status: 200}, {Transport: true, Kind: route.KindTimeout}, {Void: true}}
	for round := range rounds {
		dice := rand.New(rand.NewPCG(uint64(round), 6))
		c := randomCrowd(dice)
		for step := range steps {
			i := dice.IntN(len(c.states))
			switch dice.IntN(8) {
			case 0:
				c.pass(time.Duration(dice.IntN(12000)) * time.Millisecond)
			case 1:
				if c.rules.tells {
					c.states[i], _ = c.states[i].probe(&c.rules, dice.IntN(2) == 0, c.now)
				}
			case 2, 3, 4:
				c.begin(i)
			default:
				c.end(i, dice, &outcomes[dice.IntN(len(outcomes))], dice.IntN(5) == 0)
			}
			if c.allOut() {
				t.Fatalf("round %d, step %d: all %d are ejected: %+v", round, step, len(c.states), c.rules)
			}
			for i := range c.states {
				if n := c.liveTrials(i); n > 1 {
					t.Fatalf("round %d, step %d: %d live trials of one placement", round, step, n)
				}
			}
		}
		c.recover(t, round, dice)
	}
}

// recover lets everything be well again, while every second outcome is still lost.
func (c *crowd) recover(t *testing.T, round int, dice *rand.Rand) {
	for range 3000 { // two hours at most
		c.pass(2 * time.Second)
		out := 0
		for i := range c.states {
			if c.states[i].phase == route.PhaseClosed {
				continue
			}
			out++
			if c.rules.tells {
				c.states[i], _ = c.states[i].probe(&c.rules, true, c.now)
			}
			if c.states[i].phase == route.PhaseHalfOpen && c.begin(i) {
				last := len(c.tickets[i]) - 1
				c.tickets[i] = c.tickets[i][last:] // the others never come back
				c.end(i, dice, &route.Outcome{Status: 200}, dice.IntN(2) == 0)
			}
		}
		if out == 0 {
			return
		}
	}
	t.Fatalf("round %d: some stay ejected for ever: %+v %+v", round, c.rules, c.states)
}
