package webhook

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"fairlead/router/route"
)

// TestWorthANotice says which transitions are, and how a person reads them.
func TestWorthANotice(t *testing.T) {
	ordered := func(from, to string) route.Transition {
		tr := transition(from, to)
		tr.Cause, tr.Layer, tr.Actor, tr.Reason, tr.Message, tr.InRotation = "operator", "admin", "ops", "new kernel", "drained by ops", to == "up"
		return tr
	}
	still := func(from, to string) route.Transition { // the order is over, the fault is not
		tr := ordered(from, to)
		tr.Message = "no answer within 2s"
		return tr
	}
	ended := still("draining", "down")
	ended.Cause, ended.Actor, ended.Reason = "timer", "", "the drain that ops ordered was to end now"
	ended.Message, ended.InRotation = ended.Message+"; "+ended.Reason, true
	debug := transition("up", "leaving")
	debug.Debug = true
	serving := transition("up", "down")
	serving.InRotation = true
	up := transition("down", "up")
	up.InRotation, up.Message = true, "200"
	back := transition("ejected", "up")
	back.InRotation, back.Message = true, ""
	unprobed := func(from string) route.Transition {
		tr := transition(from, "unchecked")
		tr.InRotation, tr.Message = true, ""
		return tr
	}
	unchecked := ordered("maintenance", "unchecked")
	unchecked.InRotation = true
	dead := ofEntrypoint("ok", "down")
	dead.Down, dead.Message = route.ReasonAllUnhealthy, "clients get 503 (all_unhealthy): no backend is verified"
	fromPanic, again := dead, dead
	fromPanic.From, again.From = "panic", "down"
	deploy := ofEntrypoint("panic", "down")
	deploy.Down = route.ReasonLeaving
	quiet := ofEntrypoint("down", "ok")
	quiet.Debug = true
	instead := ordered("draining", "draining")
	instead.Message = "drained by ana (disk), in place of the drain that ops ordered at 10:00:00 UTC (new kernel)"
	restored := ordered("up", "draining")
	restored.Cause = "restore"
	renamed := func(tr route.Transition) route.Transition {
		tr.Renamed, tr.Message, tr.Cause = "http_api-green", "the entrypoint is http_api-green now", "config"
		return tr
	}
	hidden := func(kind route.Kind, message string) route.Transition {
		tr := ordered("draining", "draining")
		tr.Layer, tr.Kind, tr.Message = "passive", kind, message
		return tr
	}
	bare := transition("up", "down")
	bare.Container = ""
	for _, c := range []struct {
		t     route.Transition
		event string
		level Level
		text  string
	}{
		{transition("up", "down"), EventDown, Warn, "http_api: api-1 (172.20.0.2:80) is down: no answer within 2s; it gets no requests."},
		{bare, EventDown, Warn, "http_api: 172.20.0.2:80 is down: no answer within 2s; it gets no requests."},
		{serving, EventDown, Warn, "http_api: api-1 (172.20.0.2:80) is down: no answer within 2s; it still gets requests, because nothing better is left."},
		{transition("up", "gated"), EventDown, Warn, "http_api: api-1 (172.20.0.2:80) is down: no answer within 2s; it gets no requests."},
		{still("draining", "down"), EventReady, Warn, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel), and its state is down: no answer within 2s; it gets no requests."},
		{still("maintenance", "ejected"), EventReady, Warn, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel), and its state is ejected: no answer within 2s; it gets no requests."},
		{still("draining", "gated"), EventReady, Warn, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel), and its state is gated: no answer within 2s; it gets no requests."},
		{ended, EventReady, Warn, "http_api: api-1 (172.20.0.2:80) is ready again, and its state is down: no answer within 2s; the drain that ops ordered was to end now; it still gets requests, because nothing better is left."},
		{transition("down", "down"), "", "", ""},
		{up, EventUp, Info, "http_api: api-1 (172.20.0.2:80) is up again: 200."},
		{transition("up", "ejected"), EventEjected, Warn, "http_api: api-1 (172.20.0.2:80) was ejected: no answer within 2s; it gets no requests."},
		{unprobed("gated"), EventUp, Info, "http_api: api-1 (172.20.0.2:80) is up again."},
		{unprobed("down"), EventUp, Info, "http_api: api-1 (172.20.0.2:80) is up again."},
		{unprobed("ejected"), EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) was readmitted."},
		{unprobed("trial"), EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) was readmitted."},
		{transition("ejected", "trial"), "", "", ""},
		{transition("trial", "ejected"), EventEjected, Warn, "http_api: api-1 (172.20.0.2:80) was ejected: no answer within 2s; it gets no requests."},
		{back, EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) was readmitted."},
		{ordered("up", "draining"), EventDrain, Info, "http_api: api-1 (172.20.0.2:80) is drained by ops (new kernel)."},
		{ordered("draining", "maintenance"), EventMaintenance, Info, "http_api: api-1 (172.20.0.2:80) is in maintenance by ops (new kernel)."},
		{ordered("maintenance", "up"), EventReady, Info, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel)."},
		{unchecked, EventReady, Info, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel)."},
		{ordered("maintenance", "pending"), EventReady, Info, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel), and its state is pending; it gets no requests."},
		{debug, "", "", ""},
		{transition("up", "leaving"), "", "", ""},
		{instead, EventDrain, Info, "http_api: api-1 (172.20.0.2:80) stays out: drained by ana (disk), in place of the drain that ops ordered at 10:00:00 UTC (new kernel)."},
		{hidden(route.KindEjectedFailures, "ejected by ops"), EventEjected, Warn, "http_api: api-1 (172.20.0.2:80) was ejected by ops (new kernel), and its state is draining as before; it gets no requests."},
		{hidden(route.KindNone, "readmitted by ops"), EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) was readmitted by ops (new kernel), and its state is draining as before; it gets no requests."},
		{restored, "", "", ""},
		{dead, EventEntrypointDown, Warn, "http_api is down: clients get 503 (all_unhealthy): no backend is verified."},
		{fromPanic, EventEntrypointDown, Warn, "http_api is down: clients get 503 (all_unhealthy): no backend is verified."},
		{again, EventEntrypointDown, Warn, "http_api is down: clients get 503 (all_unhealthy): no backend is verified."},
		{deploy, EventPanicEnded, Info, "http_api is out of panic: words."},
		{ofEntrypoint("down", "ok"), EventEntrypointUp, Info, "http_api is up again: words."},
		{ofEntrypoint("down", "panic"), EventPanicStarted, Warn, "http_api is in panic: words."},
		{quiet, "", "", ""},
		{ofEntrypoint("ok", "panic"), EventPanicStarted, Warn, "http_api is in panic: words."},
		{ofEntrypoint("panic", "ok"), EventPanicEnded, Info, "http_api is out of panic: words."},
		{ofEntrypoint("closed", "open"), EventBreakerOpened, Warn, "http_api is cut off from its backends by its circuit breaker: words."},
		{ofEntrypoint("half_open", "open"), EventBreakerOpened, Warn, "http_api is cut off from its backends by its circuit breaker: words."},
		{ofEntrypoint("open", "half_open"), "", "", ""},
		{renamed(transition("down", "pending")), EventUp, Info, "http_api: api-1 (172.20.0.2:80) goes on under another id: the entrypoint is http_api-green now."},
		{renamed(transition("gated", "pending")), EventUp, Info, "http_api: api-1 (172.20.0.2:80) goes on under another id: the entrypoint is http_api-green now."},
		{renamed(transition("ejected", "pending")), EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) goes on under another id: the entrypoint is http_api-green now."},
		{renamed(transition("trial", "pending")), EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) goes on under another id: the entrypoint is http_api-green now."},
		{renamed(transition("maintenance", "pending")), EventReady, Info, "http_api: api-1 (172.20.0.2:80) goes on under another id: the entrypoint is http_api-green now."},
		{renamed(ofEntrypoint("panic", "pending")), EventPanicEnded, Info, "http_api goes on under another id: the entrypoint is http_api-green now."},
		{renamed(ofEntrypoint("down", "pending")), EventEntrypointUp, Info, "http_api goes on under another id: the entrypoint is http_api-green now."},
		{renamed(ofEntrypoint("open", "closed")), EventBreakerClosed, Info, "http_api goes on under another id: the entrypoint is http_api-green now."},
		{ofEntrypoint("half_open", "closed"), EventBreakerClosed, Info, "http_api is served again: its circuit breaker lets requests through: words."},
	} {
		event, level := classify(&c.t)
		if event != c.event || event != "" && level != c.level {
			t.Errorf("%s > %s: %q %s, want %q %s", c.t.From, c.t.To, event, level, c.event, c.level)
			continue
		}
		if event == "" {
			continue
		}
		if got := sentence(event, &c.t); got != c.text {
			t.Errorf("%s > %s:\n%s, want\n%s", c.t.From, c.t.To, got, c.text)
		}
	}
}

// TestLevelAndStart: with the level warn the way back is not sent. That a backend comes
// up at its start is no news, unless the receiver knows it to be down.
func TestLevelAndStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, grave := &receiver{}, &receiver{}
		p, q := start(t, both, nil), start(t, grave, func(c *Config) { c.Level = Warn })
		restarted := transition("pending", "up")
		restarted.Backend, restarted.Address = "ffffffffffff", "172.20.0.9:80" // the container's name is the same
		for _, one := range []route.Transition{
			transition("pending", "up"), transition("up", "down"), restarted, restarted, transition("up", "ejected"), transition("trial", "up"), transition("pending", "up"),
			transition("draining", "down"), restarted, transition("draining", "up"), transition("pending", "up"),
		} {
			p.Transition(one)
			q.Transition(one)
		}
		synctest.Wait()
		if got := events(t, both); got != "down up ejected readmitted ready up ready" {
			t.Errorf("info: %s", got)
		}
		if got := events(t, grave); got != "down ejected ready" {
			t.Errorf("warn: %s", got)
		}
		p.stop()
		q.stop()
	})
}

// TestTheWayBackOfEach: what was told to be bad is told to be well again, whatever it is
// called then, and what only starts is not: a container that Docker's word held back
// (dockerHealth=require), or one that is not probed.
func TestTheWayBackOfEach(t *testing.T) {
	for _, c := range []struct{ steps, want string }{
		{"gated>up", ""},
		{"gated>unchecked", ""},
		{"gated>pending pending>up", ""},
		{"pending>unchecked", ""},
		{"up>gated gated>up up>gated gated>up", "down up down up"},
		{"unchecked>gated gated>unchecked pending>unchecked", "down up"},
		{"unchecked>gated pending>unchecked", "down up"}, // it was started anew
		{"unchecked>ejected ejected>trial trial>unchecked pending>unchecked", "ejected readmitted"},
		{"unchecked>ejected ejected>unchecked", "ejected readmitted"},
		{"unchecked>ejected ejected>gated gated>unchecked", "ejected down up"},
		{"up>down down>draining draining>up pending>up", "down drain ready"},
		{"up>down down>draining draining>pending pending>up", "down drain ready up"},
		{"down>unchecked", "up"}, // its check was turned off
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{}
			p := start(t, r, nil)
			for step := range strings.FieldsSeq(c.steps) {
				from, to, _ := strings.Cut(step, ">")
				p.Transition(transition(from, to))
			}
			synctest.Wait()
			if got := events(t, r); got != c.want {
				t.Errorf("%s: told %q, want %q", c.steps, got, c.want)
			}
			p.stop()
		})
	}
}

func events(t *testing.T, r *receiver) string {
	t.Helper()
	var list []string
	for _, c := range r.seen() {
		var n Notice
		if err := json.Unmarshal(c.body, &n); err != nil {
			t.Fatal(err)
		}
		list = append(list, n.Event)
	}
	return strings.Join(list, " ")
}
