package peers

import (
	"testing"
	"time"

	"fairlead/api"
)

const ms, sec = time.Millisecond, time.Second

// TestPeers: what users of other routers and checkers rely on, by labels of ours.
func TestPeers(t *testing.T) {
	for _, tt := range []struct {
		peer   string // and what it promises
		labels string
		n      int
		script func(w *world)
	}{
		{"a balancer with thresholds 3 and 2: everyone is live at the start, 502 when all are dead",
			`healthCheck.path=/health healthCheck.interval=2s healthCheck.timeout=1s healthCheck.jitter=0 healthCheck.unhealthyThreshold=3
			healthCheck.healthyThreshold=2 healthCheck.initial=up panic=off noBackendStatus=502`, 2, thresholds},
		{"Praxis: exact status, thresholds 2 and 3, passive 5 and 3, panic, unready when nothing is healthy",
			`healthCheck.path=/health healthCheck.status=200 healthCheck.interval=5s healthCheck.jitter=0 healthCheck.healthyThreshold=2
			healthCheck.unhealthyThreshold=3 passive.failures=5 passive.trials=3 passive.recovery=trial panic=all`, 2, praxis},
		{"Sozune: TCP each 10 s without a word, one failure is enough, the last one stays", ``, 2, sozune},
		{"Sozune: HTTP with a path, any 2xx or 3xx", `healthCheck.path=/health`, 2, sozuneHTTP},
		{"frp: nothing before the first success, the given Host, out after 3 failures in a row",
			`healthCheck.path=/health healthCheck.interval=10s healthCheck.jitter=0 healthCheck.host=app.example.com healthCheck.unhealthyThreshold=3
			healthCheck.initial=down panic=off holdFor=0`, 1, frp},
		{"Caddy: fail_duration 30s, max_fails 3, unhealthy_status 5xx",
			`passive.window=30s passive.failures=3 passive.status=5xx passive.ejectionTime=30s passive.maxEjectionTime=30s passive.recovery=time
			passive.panic=false passive.maxEjectionPercent=100`, 2, caddyFails},
		{"Caddy: unhealthy_latency 3s",
			`passive.window=30s passive.failures=3 passive.latency=3s passive.ejectionTime=30s passive.maxEjectionTime=30s passive.recovery=time
			passive.panic=false passive.maxEjectionPercent=100`, 2, caddyLatency},
		{"Caddy: unhealthy_request_count 50", `maxConnections=50 maxConnections.queue=0`, 1, caddyCount},
		{"Caddy: lb_try_duration 5s", `retry.tryDuration=5s retry.tryInterval=250ms`, 1, caddyTries},
	} {
		t.Run(tt.peer, func(t *testing.T) { run(t, tt.n, tt.labels, tt.script) })
	}
}

func thresholds(w *world) {
	w.wantServing("1 2") // before any probe
	w.wantGet(4, 200)
	w.at(4500 * ms)
	w.apps[1].health.Store(503)
	w.at(9 * sec) // two failed probes
	w.wantServing("1 2")
	w.at(11 * sec)
	w.wantServing("1")
	w.pages()
	w.wantGet(10, 200)
	if got := w.pages(); got[1] != 0 {
		w.t.Errorf("a backend that is down got %d requests", got[1])
	}
	w.apps[1].health.Store(200)
	w.at(13 * sec)
	w.wantServing("1")
	w.at(15 * sec)
	w.wantServing("1 2")
	for _, a := range w.apps {
		a.health.Store(500)
	}
	w.at(22 * sec)
	w.wantServing("")
	w.pages()
	w.wantGet(3, 502)
	if got := w.pages(); got[0]+got[1] != 0 {
		w.t.Errorf("dead backends got %v", got)
	}
}

func praxis(w *world) {
	w.at(2 * sec)
	w.wantServing("1 2")
	w.apps[1].health.Store(204) // not exactly 200
	w.at(17 * sec)
	w.wantServing("1")
	w.apps[1].health.Store(200)
	w.at(27 * sec)
	w.wantServing("1 2")
	if code := w.ready(api.ReadinessAny); code != 200 {
		w.t.Errorf("all well: /ready %d", code)
	}
	w.apps[1].status.Store(503) // its probes go on passing
	w.pages()
	for range 40 {
		w.get()
	}
	if got := w.pages(); got[1] != 5 {
		w.t.Errorf("%d requests reached a backend that fails them, want 5", got[1])
	}
	w.apps[1].status.Store(200)
	w.at(61 * sec) // half open: 3 trials
	w.wantGet(12, 200)
	w.wantServing("1 2")
	for _, a := range w.apps {
		a.health.Store(500)
	}
	w.at(80 * sec)
	w.wantServing("1 2") // panic
	w.wantGet(4, 200)
	if code := w.ready(api.ReadinessAny); code != 503 {
		w.t.Errorf("nothing is healthy: /ready %d with the policy any", code)
	}
	if code := w.ready(api.ReadinessProcess); code != 200 {
		w.t.Errorf("nothing is healthy: /ready %d with the policy process", code)
	}
}

func sozune(w *world) {
	w.at(2 * sec)
	w.wantServing("1 2")
	c := w.health().Backends[0].Check
	if c == nil || c.Check.Type != "tcp" || c.Check.Interval != 10*sec || c.Check.Timeout != 5*sec ||
		c.Check.UnhealthyThreshold != 1 || c.Check.HealthyThreshold != 1 {
		w.t.Errorf("%+v", c)
	}
	w.apps[1].dead.Store(true)
	w.at(14 * sec)
	w.wantServing("1")
	w.wantGet(4, 200)
	w.apps[0].dead.Store(true)
	w.at(30 * sec)
	w.wantServing("1 2")
	w.wantGet(1, 502)
	w.apps[0].dead.Store(false)
	w.at(43 * sec)
	w.wantServing("1")
	w.wantGet(4, 200)
}

func sozuneHTTP(w *world) {
	w.at(2 * sec)
	w.wantServing("1 2")
	w.apps[0].health.Store(302)
	w.apps[1].health.Store(404)
	w.at(14 * sec)
	w.wantServing("1")
	if b := w.health().Backends[1]; b.Kind != "bad_status" {
		w.t.Errorf("%s %s", b.Kind, b.Message)
	}
}

func frp(w *world) {
	w.apps[0].health.Store(503)
	w.at(9 * sec)
	w.wantServing("")
	if status, reason := w.get(); status != 503 || reason != "all_unhealthy" && reason != "initializing" {
		w.t.Errorf("before the first success: %d %s", status, reason)
	}
	w.apps[0].health.Store(200)
	w.at(11 * sec)
	w.wantServing("1")
	w.wantGet(1, 200)
	if _, ok := w.apps[0].hosts.Load("app.example.com"); !ok {
		w.t.Error("the probe does not send the Host that was asked for")
	}
	w.apps[0].health.Store(503)
	w.at(32 * sec) // two failures
	w.wantServing("1")
	w.apps[0].health.Store(200)
	w.at(42 * sec) // the count begins anew
	w.apps[0].health.Store(503)
	w.at(62 * sec)
	w.wantServing("1")
	w.at(72 * sec)
	w.wantServing("")
	w.wantGet(1, 503)
	w.apps[0].health.Store(200)
	w.at(83 * sec)
	w.wantServing("1")
}

func caddyFails(w *world) {
	w.at(2 * sec)
	w.apps[1].status.Store(500)
	w.pages()
	for range 20 {
		w.get()
	}
	if got := w.pages(); got[1] != 3 {
		w.t.Errorf("%d requests reached a failing backend, want 3", got[1])
	}
	w.wantServing("1")
	w.apps[0].status.Store(500)
	for range 5 {
		w.get()
	}
	w.wantServing("")
	w.wantGet(2, 503) // no upstream is left
	w.apps[0].status.Store(200)
	w.at(38 * sec)
	w.wantServing("1 2")
	if status, _ := w.get(); status == 503 {
		w.t.Error("the failures are older than fail_duration and still count")
	}
}

func caddyLatency(w *world) {
	w.at(2 * sec)
	w.apps[1].slow.Store(int64(4 * sec))
	for range 8 {
		w.get()
	}
	w.wantServing("1")
	if b := w.health().Backends[1]; b.Kind != "ejected_latency" {
		w.t.Errorf("%s %s", b.Kind, b.Message)
	}
}

func caddyCount(w *world) {
	w.at(2 * sec)
	w.apps[0].slow.Store(int64(sec))
	statuses := make(chan int, 60)
	for range cap(statuses) {
		go func() { status, _ := w.ask(); statuses <- status }()
	}
	count := map[int]int{}
	for range cap(statuses) {
		count[<-statuses]++
	}
	if count[200] != 50 || count[503] != 10 {
		w.t.Errorf("60 requests at once: %v, want 50 served", count)
	}
}

func caddyTries(w *world) {
	w.at(2 * sec)
	w.apps[0].dead.Store(true)
	go func() {
		<-time.After(3 * sec)
		w.apps[0].dead.Store(false)
	}()
	began := time.Now()
	w.wantGet(1, 200)
	if took := time.Since(began); took < 3*sec || took > 3500*ms {
		w.t.Errorf("the request that waited took %v", took)
	}
	w.at(15 * sec) // no connection is kept so long
	w.apps[0].dead.Store(true)
	began = time.Now()
	w.wantGet(1, 502)
	if took := time.Since(began); took < 4500*ms || took > 6*sec {
		w.t.Errorf("the tries went on for %v, want about 5 s", took)
	}
}
