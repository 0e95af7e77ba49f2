package healthcheck

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// jury drives the passive reducer through a script.
type jury struct {
	t     *testing.T
	rules passiveRules
	state passive
	now   time.Time
	word  word
	held  []route.Ticket // of attempts on their way
	said  []string
}

func newJury(t *testing.T, edit func(*passiveRules)) *jury {
	r := passiveRules{Passive: route.DefaultPassive(), heal: 1, lease: minLease}
	r.Failures = 3
	if edit != nil {
		edit(&r)
	}
	return &jury{t: t, rules: r, state: newPassive(), now: t0, word: word{given: true}}
}

func (j *jury) step(s passive, what change) {
	j.state = s
	if what != changeNone {
		j.said = append(j.said, string(what))
	}
}

// end ends a ticket with what the letter says.
func (j *jury) end(t route.Ticket, letter string) {
	o := map[string]route.Outcome{
		"F": {Status: 503}, "S": {Status: 200, Latency: time.Millisecond}, "V": {Void: true}, "N": {Status: 404},
		"L": {Status: 200, Latency: 3 * time.Second}, "X": {Transport: true, Kind: route.KindTimeout},
		"VX": {Void: true, Transport: true, Kind: route.KindOther}, "VF": {Void: true, Status: 503},
	}[letter]
	j.step(j.state.end(&j.rules, t, &o, j.now, j.word))
}

// run goes through a script: outcomes of requests (F fails, S succeeds, V is void, N 404, L
// slow, X transport failure), "(" begins an attempt and "S)" ends the oldest one, +30s lets
// time pass, p and P are probes that fail and succeed, cap, last and free are the engine's word.
func (j *jury) run(script string) {
	for token := range strings.FieldsSeq(script) {
		switch {
		case token == "cap", token == "last":
			j.word.blocked = token
		case token == "free":
			j.word.blocked = ""
		case token == "p", token == "P":
			j.step(j.state.probe(&j.rules, token == "P", j.now))
		case token == "(":
			var ticket route.Ticket
			var ok bool
			if j.state, ticket, ok = j.state.begin(&j.rules, j.now); !ok {
				j.said = append(j.said, "turned away")
				continue
			}
			j.held = append(j.held, ticket)
		case strings.HasSuffix(token, ")"):
			j.end(j.held[0], token[:len(token)-1])
			j.held = j.held[1:]
		case token[0] == '+':
			d, err := time.ParseDuration(token[1:])
			if err != nil {
				j.t.Fatal(err)
			}
			j.now = j.now.Add(d)
			j.step(j.state.tick(&j.rules, j.now))
		default:
			s, ticket, ok := j.state.begin(&j.rules, j.now)
			if j.state = s; !ok {
				j.said = append(j.said, "turned away")
				continue
			}
			j.end(ticket, token)
		}
	}
}

// stands is the state in short: "closed 2", "open 1 30s", "half_open", with what was
// said on the way.
func (j *jury) stands() string {
	s := &j.state
	text := string(s.phase)
	switch s.phase {
	case route.PhaseOpen:
		text += " " + strconv.Itoa(s.n) + " " + s.until.Sub(j.now).String()
	case route.PhaseClosed:
		text += " " + strconv.Itoa(s.fails)
	default:
		if s.lease != 0 {
			text += " leased"
		}
	}
	if s.blocked != "" {
		text += " " + s.blocked
	}
	return strings.TrimSpace(text + ": " + strings.Join(j.said, ", "))
}

func TestPassiveTable(t *testing.T) {
	how := func(r route.Recovery, tells bool) func(*passiveRules) {
		return func(p *passiveRules) { p.Recovery, p.tells = r, tells }
	}
	window := func(p *passiveRules) { p.Window = 10 * time.Second }
	trials := func(p *passiveRules) { p.Trials = 2 }
	for _, row := range []struct {
		name   string
		edit   func(*passiveRules)
		script string
		want   string
	}{
		{"failures below the threshold", nil, "F F", "closed 2:"},
		{"the threshold", nil, "F F F", "open 1 30s: ejected"},
		{"transport failures count whatever the status", nil, "X X X", "open 1 30s: ejected"},
		{"cumulative_failures: a success begins anew", nil, "F F S F F S F F S F F", "closed 2:"},
		{"other statuses are successes", nil, "F F N F F", "closed 2:"},
		{"client_cancel_counts: void counts nothing", nil, "V VX VF V F V F V", "closed 2:"},
		{"void clears nothing either", nil, "F F V F", "open 1 30s: ejected"},
		{"latency off", nil, "L L L", "closed 0:"},
		{"latency", func(p *passiveRules) { p.Latency = 3 * time.Second }, "L L L", "open 1 30s: ejected"},
		{"no status", func(p *passiveRules) { p.Status = route.StatusSet{} }, "F F F", "closed 0:"},
		{"window: successes between do not matter", window, "F S F S F", "open 1 30s: ejected"},
		{"window: failures grow old", window, "F F +11s F", "closed 1:"},
		{"window: the last moment counts", window, "F F +10s F", "open 1 30s: ejected"},
		{"window: it slides", window, "F +6s F +6s F +3s F", "open 1 30s: ejected"},
		{"blocked stays and saturates", nil, "cap F F F F F", "closed 3 cap: ejection_blocked"},
		{"blocked is asked again", nil, "last F F F free F", "open 1 30s: ejection_blocked, ejected"},
		{"blocked once per episode", nil, "cap F F F F last F S F F F", "closed 3 last: ejection_blocked, ejection_blocked"},
		{"window: a blocked episode ends with the window", func(p *passiveRules) { p.Window = 5 * time.Second }, "cap F F F +6s", "closed 0: ejection_blocked"},
		{"late failures do not extend it", nil, "( ( F F F +10s F) S)", "open 1 20s: ejected"},
		{"passive_success_not_recorded: panic traffic heals", nil, "F F F +5s S", "closed 0: ejected, readmitted"},
		{"panic traffic must succeed in a row", trials, "F F F S F S", "open 1 30s: ejected"},
		{"two successes in panic", trials, "F F F S F S S", "closed 0: ejected, readmitted"},
		{"panic traffic that fails changes nothing", nil, "F F F +5s F F F F", "open 1 25s: ejected"},
		{"time opens the trial", nil, "F F F +29s +1s", "half_open: ejected, trial"},
		{"trial passes", nil, "F F F +30s S", "closed 0: ejected, trial, readmitted"},
		{"trial fails", nil, "F F F +30s F", "open 2 1m0s: ejected, trial, ejected"},
		{"the trial is one", nil, "F F F +30s ( (", "half_open leased: ejected, trial, turned away"},
		{"half_open_leak_cancel: a void trial frees it", nil, "F F F +30s ( V) ( V) S", "closed 0: ejected, trial, readmitted"},
		{"a trial that never returns", nil, "F F F +30s ( +29s ( +1s (", "half_open leased: ejected, trial, turned away"},
		{"a dead trial says nothing", nil, "F F F +30s ( +30s F)", "half_open: ejected, trial"},
		{"a dead trial does not free the next", nil, "F F F +30s ( +30s ( V)", "half_open leased: ejected, trial"},
		{"panic requests say nothing to a trial", nil, "F F F ( +30s F)", "half_open: ejected, trial"},
		{"two trials", trials, "F F F +30s S", "half_open: ejected, trial"},
		{"two trials pass", trials, "F F F +30s S S", "closed 0: ejected, trial, readmitted"},
		{"a second trial fails", trials, "F F F +30s S F", "open 2 1m0s: ejected, trial, ejected"},
		{"probes heal with auto", how(route.RecoverAuto, true), "F F F P", "closed 0: ejected, readmitted"},
		{"probes heal on trial", how(route.RecoverAuto, true), "F F F +30s ( P F)", "closed 0: ejected, trial, readmitted"},
		{"probe_only: a TCP probe does not", how(route.RecoverProbe, false), "F F F P P P", "open 1 30s: ejected"},
		{"probe_only without such a check: trials decide", how(route.RecoverProbe, false), "F F F +30s P", "half_open: ejected, trial"},
		{"auto: a TCP probe does not", how(route.RecoverAuto, false), "F F F P P P", "open 1 30s: ejected"},
		{"probe: neither time nor requests", how(route.RecoverProbe, true), "F F F S +30s +300s S", "open 1 -5m0s: ejected"},
		{"probe", how(route.RecoverProbe, true), "F F F +300s P", "closed 0: ejected, readmitted"},
		{"trial: no probe", how(route.RecoverTrial, true), "F F F P P", "open 1 30s: ejected"},
		{"time", how(route.RecoverTime, true), "F F F P +30s", "closed 0: ejected, readmitted"},
		{"healthy threshold", func(p *passiveRules) { p.tells, p.heal = true, 2 }, "F F F P p P", "open 1 30s: ejected"},
		{"healthy threshold in a row", func(p *passiveRules) { p.tells, p.heal = true, 2 }, "F F F P p P P", "closed 0: ejected, readmitted"},
		{"it grows", nil, "F F F +30s S F F F", "open 2 1m0s: ejected, trial, readmitted, ejected"},
		{"it decays by whole periods", nil, "F F F +30s F +60s S +30s F F F", "open 2 1m0s: ejected, trial, ejected, trial, readmitted, ejected"},
		{"it decays to nothing", nil, "F F F +30s F +60s S +300s F F F", "open 1 30s: ejected, trial, ejected, trial, readmitted, ejected"},
	} {
		j := newJury(t, row.edit)
		j.run(row.script)
		if got := j.stands(); got != row.want {
			t.Errorf("%s: %s\n got %s\nwant %s", row.name, row.script, got, row.want)
		}
	}
}

// TestPassiveTimes: repeated failure of the trial makes each ejection longer by the first
// one's time, up to the most.
func TestPassiveTimes(t *testing.T) {
	j := newJury(t, nil)
	j.run("F F F")
	var got []int
	for range 12 {
		last := j.state.until.Sub(j.now)
		got = append(got, int(last.Seconds()))
		j.run(fmt.Sprintf("+%s F", last))
	}
	if want := "[30 60 90 120 150 180 210 240 270 300 300 300]"; fmt.Sprint(got) != want {
		t.Errorf("ejections of %v s, want %s", got, want)
	}
	for _, chance := range []float64{0, 0.5, 0.999} {
		j := newJury(t, nil)
		j.word.chance = chance
		j.run("F F F")
		if got, want := j.state.until.Sub(j.now), 30*time.Second+time.Duration(chance*float64(3*time.Second)); got != want {
			t.Errorf("with the chance %g an ejection takes %s, want %s", chance, got, want)
		}
	}
	j = newJury(t, func(r *passiveRules) { r.EjectionTime, r.MaxEjectionTime = time.Hour, time.Hour })
	j.state.n = 1 << 40
	if s := j.state.open(&j.rules, j.state.n, j.now, 0); s.until.Sub(j.now) != time.Hour {
		t.Errorf("an ejection of %s", s.until.Sub(j.now))
	}
}

// TestPassiveAsks: what changes the phase does nothing before the engine gives its word.
func TestPassiveAsks(t *testing.T) {
	for _, script := range []string{"F F : F", "F F F : S", "F F F +30s : S", "F F F +30s : F"} {
		before, last, _ := strings.Cut(script, " : ")
		j := newJury(t, nil)
		j.run(before)
		was, said := j.stands(), j.said
		j.word = word{}
		j.said = nil
		j.run(last)
		if fmt.Sprint(j.said) != "[ask]" {
			t.Errorf("%s: said %v", script, j.said)
		}
		if j.state.lease, j.said = 0, said; j.stands() != was {
			t.Errorf("%s: %s, before it %s", script, j.stands(), was)
		}
	}
}

// TestPassiveRecount: new settings keep the counters; an ejection keeps its end.
func TestPassiveRecount(t *testing.T) {
	change := func(script string, edit func(*passiveRules), after string) string {
		j := newJury(t, nil)
		j.run(script)
		old := j.rules
		edit(&j.rules)
		j.state = j.state.recount(&old, &j.rules)
		j.run(after)
		return j.stands()
	}
	for _, row := range []struct{ got, want string }{
		{change("F F", func(r *passiveRules) { r.Failures = 2 }, ""), "closed 2:"},
		{change("F F", func(r *passiveRules) { r.Failures = 2 }, "F"), "open 1 30s: ejected"},
		{change("F F", func(r *passiveRules) { r.Failures = 5 }, "F F"), "closed 4:"},
		{change("F F F +10s", func(r *passiveRules) { r.EjectionTime = time.Minute }, ""), "open 1 20s: ejected"},
		{change("F F", func(r *passiveRules) { r.Window = time.Minute }, "F F"), "closed 2:"},
		{change("cap F F F", func(r *passiveRules) { r.Failures = 5 }, ""), "closed 3: ejection_blocked"},
	} {
		if row.got != row.want {
			t.Errorf("%s, want %s", row.got, row.want)
		}
	}
}
