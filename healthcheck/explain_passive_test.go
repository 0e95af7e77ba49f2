package healthcheck

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestPassiveSentences holds what the explanation says of ejections word for word.
func TestPassiveSentences(t *testing.T) {
	http := httpCheck("/health?token=secret")
	for _, row := range []struct {
		name  string
		edit  func(*route.Options)
		check func(*route.Backend)
		play  func(*rig)
		want  string
	}{
		{"ejected", nil, nil, func(r *rig) { r.requests("b0", 503, 0, 503) },
			"Out of rotation: 3 requests in a row failed; last: answered 503 at 00:00:02 UTC. It is ejected until 00:00:32 UTC; then one request at a time is its trial. Next probe at 00:00:10 UTC."},
		{"ejected, and probes tell", nil, http, func(r *rig) { r.requests("b0", 503, 503, 0) },
			"Out of rotation: 3 requests in a row failed; last: connection refused at 00:00:02 UTC. It is ejected until 00:00:32 UTC; then one request at a time is its trial. A successful probe (GET http://10.0.0.1:80/health?token=***) launched after the ejection brings it back sooner. Next probe at 00:00:10 UTC."},
		{"by probes alone", func(o *route.Options) { o.Passive.Recovery = route.RecoverProbe }, http, func(r *rig) { r.requests("b0", 503, 503, 503) },
			"Out of rotation: 3 requests in a row failed; last: answered 503 at 00:00:02 UTC. A successful probe (GET http://10.0.0.1:80/health?token=***) launched after the ejection brings it back, and nothing else (passive.recovery=probe). Next probe at 00:00:10 UTC."},
		{"by probes that cannot tell", func(o *route.Options) { o.Passive.Recovery = route.RecoverProbe }, nil, func(r *rig) { r.requests("b0", 503, 503, 503) },
			"Out of rotation: 3 requests in a row failed; last: answered 503 at 00:00:02 UTC. It is ejected until 00:00:32 UTC; then one request at a time is its trial. passive.recovery=probe needs a check by http, grpc or websocket; here trials decide instead. Next probe at 00:00:10 UTC."},
		{"by time, for latency", func(o *route.Options) {
			o.Passive.Recovery, o.Passive.Latency, o.Passive.Failures = route.RecoverTime, time.Millisecond, 1
		}, nil, func(r *rig) { r.requests("b0", 200) },
			"Out of rotation: 1 request failed; last: answered 200 after 1ms at 00:00:02 UTC. It is ejected until 00:00:32 UTC, and serves again then (passive.recovery=time). Next probe at 00:00:10 UTC."},
		{"within a window", func(o *route.Options) { o.Passive.Window = 10 * time.Second }, nil, func(r *rig) { r.requests("b0", 503, 200, 503, 503) },
			"Out of rotation: 3 requests failed within 10s; last: answered 503 at 00:00:02 UTC. It is ejected until 00:00:32 UTC; then one request at a time is its trial. Next probe at 00:00:10 UTC."},
		{"on trial", nil, nil, func(r *rig) {
			r.requests("b0", 503, 503, 503)
			r.at(32 * time.Second)
		}, "On trial after its ejection: 3 requests in a row failed; last: answered 503 at 00:00:02 UTC. The next request is its trial; a failure ejects it again. Next probe at 00:00:40 UTC."},
		{"a trial on its way, one of two done", func(o *route.Options) { o.Passive.Trials = 2 }, nil, func(r *rig) {
			r.requests("b0", 503, 503, 503)
			r.at(32 * time.Second)
			r.request("b0", 200)
			r.member("b0").Judge.Begin(time.Now())
			r.at(33 * time.Second)
		}, "On trial after its ejection: 3 requests in a row failed; last: answered 503 at 00:00:02 UTC. A trial request is on its way, until 00:01:02 UTC at most (1 of 2 have succeeded); a failure ejects it again. Next probe at 00:00:40 UTC."},
		{"ejected again", nil, nil, func(r *rig) {
			r.requests("b0", 503, 503, 503)
			r.at(32 * time.Second)
			r.request("b0", 503)
		}, "Out of rotation: the trial failed: answered 503 at 00:00:32 UTC. It is ejected until 00:01:32 UTC (ejection 2); then one request at a time is its trial. Next probe at 00:00:40 UTC."},
		{"failures that do not eject it yet", nil, nil, func(r *rig) {
			r.requests("b0", 503, 503)
			r.at(3 * time.Second)
		}, "In rotation: the last probe connected in 0s at 00:00:00 UTC (TCP 10.0.0.1:80). 2 requests in a row failed (answered 503); 3 would eject it. Next probe at 00:00:10 UTC."},
		{"in panic", nil, nil, func(r *rig) {
			r.requests("b0", 503, 503, 503)
			r.net.set("10.0.0.2:80", refuse)
			r.net.set("10.0.0.3:80", refuse)
			r.at(12 * time.Second)
		}, "Ejected, but it still gets requests because nothing else is verified (panic=all): 3 requests in a row failed; last: answered 503 at 00:00:02 UTC. It is ejected until 00:00:32 UTC; then one request at a time is its trial; a successful request in the meantime brings it back at once. Next probe at 00:00:20 UTC."},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			var edits []func(*route.Options)
			if row.edit != nil {
				edits = append(edits, row.edit)
			}
			var backends []func(*route.Backend)
			if row.check != nil {
				backends = append(backends, row.check)
			}
			trio(r, ejecting(edits...), backends...)
			row.play(r)
			if got := r.health("http_api", "b0").Explain; got != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.name, got, row.want)
			}
			if all := strings.Join(r.logs.lines(), "\n"); strings.Contains(all, "secret") {
				t.Error("the value of a query is in the log")
			}
		})
	}
}
