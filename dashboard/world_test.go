package dashboard

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// noon is the moment at which the worlds are looked at.
var noon = time.Date(2027, 3, 17, 11, 42, 31, 0, time.UTC)

// canary stands wherever a secret may stand.
const canary = "c4nary-s3cret"

// world builds views that look like a machine in use.
type world struct {
	now  time.Time
	view router.View
	next byte // of addresses
}

// still is a viewer of one view.
type still struct{ view *router.View }

func (f still) View() *router.View { return f.view }

func newWorld(now time.Time) *world {
	w := &world{now: now, next: 2}
	w.view.Generation = 1841
	w.view.Health = &route.HealthView{Rev: 90210, Sets: 1841, Settled: true}
	w.view.Providers = []route.ProviderStatus{
		{Name: "docker", Enabled: true, Configured: true, Connected: true, Phase: route.PhaseReady, Since: w.ago(26 * time.Hour), LastSync: w.ago(18 * time.Second), EngineVersion: "29.1.3", APIVersion: "1.52", Candidates: 41, Ignored: 9},
		{Name: "file", Enabled: true, Configured: true, Connected: true, Phase: route.PhaseReady, Since: w.ago(26 * time.Hour), LastSync: w.ago(3 * time.Hour)},
		{Name: "podman"}, {Name: "swarm"},
	}
	return w
}

func (w *world) ago(d time.Duration) time.Time { return w.now.Add(-d) }

// service is an entrypoint in the making.
type service struct {
	w *world
	e *route.Entrypoint
	h route.EntrypointHealth
	v router.EntrypointView
}

// add begins an entrypoint with a host.
func (w *world) add(project, name, host string) *service {
	pattern, err := route.ParseHostPattern(host)
	if err != nil {
		panic(err)
	}
	prefix := "sozune.http." + name + "."
	e := &route.Entrypoint{
		ID: "http_" + name, Name: name, Protocol: route.HTTP, Source: "docker", Project: project, Claim: w.ago(60 * 24 * time.Hour),
		Match:   route.Match{Hosts: []route.HostPattern{pattern}, Path: route.PathRule{Kind: route.PathPrefix, Value: "/"}},
		Options: route.DefaultOptions(),
		Labels: []route.Origin{
			{Key: "healthcheck.headers.authorization", Label: prefix + "healthCheck.headers.Authorization"},
			{Key: "healthcheck.path", Label: prefix + "healthCheck.path"}, {Key: "host", Label: prefix + "host"},
		},
	}
	return &service{w: w, e: e, h: route.EntrypointHealth{State: route.EntrypointOK, Since: w.ago(26 * time.Hour), Rev: 90210, Panic: route.PanicView{Mode: route.PanicAll}}}
}

func (s *service) path(p string) *service {
	s.e.Match.Path.Value = p
	s.e.Labels = append(s.e.Labels, route.Origin{Key: "path", Label: "sozune.http." + s.e.Name + ".path"})
	return s
}

func (s *service) hosts(more ...string) *service {
	for _, h := range more {
		p, err := route.ParseHostPattern(h)
		if err != nil {
			panic(err)
		}
		s.e.Match.Hosts = append(s.e.Match.Hosts, p)
	}
	return s
}

// replicas adds backends that are up.
func (s *service) replicas(n int, port uint16, change ...func(*route.BackendHealth)) *service {
	for i := range n {
		h := s.up(fmt.Sprintf("%s-%s-%d", s.e.Project, s.e.Name, i+1), port, i)
		for _, c := range change {
			c(&h)
		}
		s.h.Backends = append(s.h.Backends, h)
	}
	return s
}

func (s *service) up(name string, port uint16, i int) route.BackendHealth {
	w := s.w
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	address := fmt.Sprintf("172.20.0.%d", w.next)
	w.next++
	started := w.ago(26*time.Hour + time.Duration(i)*7*time.Minute)
	b := route.Backend{
		ID: id[:12], Name: name, Host: address, Port: port, Scheme: route.SchemeHTTP, Weight: 100, DialTimeout: 2 * time.Second,
		Incarnation: "docker/" + id[:12] + "/1", Docker: route.DockerHealthPrefer, Provider: route.ProviderPresent, StartedAt: started,
		Container: &route.Container{ID: id, Name: name, Image: "registry.example.com/" + s.e.Project + "/" + s.e.Name + ":2.14.1", CreatedAt: started, StartedAt: started, Health: "none"},
	}
	check := route.DefaultCheck()
	check.Type, check.Scheme, check.Port, check.Path, check.Host = route.ProbeHTTP, route.SchemeHTTP, port, "/health", b.Address()
	check.Headers = []route.CheckHeader{{Name: "Authorization", Value: canary}}
	if s.e.Name == "shop" {
		check.Path += "?token=" + canary + "&" + canary
	}
	b.Check = &check
	yes := true
	last := w.ago(time.Duration(2+i*3) * time.Second)
	h := route.BackendHealth{
		Backend: b, State: route.StateUp, Healthy: &yes, InRotation: true, RotationReason: route.InVerified, Source: "active",
		Since: started.Add(2 * time.Second), LastChecked: last, EffectiveWeight: 100, Message: "200",
		Counters: route.Counters{ConsecutiveOK: 9361, Probes: 9362, Failures: 1, Transitions: 1}, Probes: w.ticks(name, last, 0),
		NextCheckAt: last.Add(10 * time.Second), InFlight: int64(3 + i), Load: &route.Load{},
	}
	h.Load.InFlight.Store(int64(3 + i))
	h.LastResult = &route.ProbeResult{At: last, OK: true, Message: "200", Status: 200, Remote: b.Address(), Duration: h.Probes[len(h.Probes)-1].Duration}
	h.Check = &route.CheckView{ID: "c-" + b.ID, Check: check, Incarnation: b.Incarnation, Target: b.Address(), SharedWith: []string{s.e.ID}, Pace: "normal", NextLaunch: h.NextCheckAt, DetectionBound: 12 * time.Second}
	h.Explain = fmt.Sprintf("In rotation: the last probe 200 in %s at %s (GET http://%s/health). Next probe at %s.", h.LastResult.Duration, clock(last), b.Address(), clock(h.NextCheckAt))
	h.History = []route.Transition{{At: h.Since, Rev: 12, Backend: b.ID, Layer: "active", From: "pending", To: "up", Cause: "probe", Message: "200", OK: 1, InRotation: true}}
	return h
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// ticks are the last probes, of which the newest failed.
func (w *world) ticks(seed string, last time.Time, failed int) []route.ProbeTick {
	sum := sha256.Sum256([]byte(seed))
	list := make([]route.ProbeTick, route.MaxProbeTicks)
	for i := range list {
		t := &list[i]
		noise := float64(sum[i]) / 255
		t.At, t.OK = last.Add(-time.Duration(len(list)-1-i)*10*time.Second), true
		t.Duration = time.Duration((1 + 3*noise*noise + float64(sum[31]%8)) * float64(time.Millisecond)).Round(100 * time.Microsecond)
		if i >= len(list)-failed {
			t.OK, t.Kind, t.Duration = false, route.KindConnectionRefused, 300*time.Microsecond
		}
	}
	return list
}

// fail makes backend i one whose probes fail.
func (s *service) fail(i int, kind route.Kind, message, hint string, since time.Duration, reason route.RotationReason) *service {
	h, w, no := &s.h.Backends[i], s.w, false
	b := &h.Backend
	h.State, h.Healthy, h.Kind, h.Message, h.Hint = route.StateDown, &no, kind, message, hint
	h.RotationReason, h.Since, h.InRotation = reason, w.ago(since), reason == route.InPanicAll
	n := max(int(since/(10*time.Second)), 1)
	h.Counters = route.Counters{ConsecutiveFail: n, Probes: 9362, Failures: uint64(n + 1), Transitions: 2}
	h.Probes = w.ticks(b.Name, h.LastChecked, min(n, route.MaxProbeTicks))
	for j := range h.Probes {
		if !h.Probes[j].OK {
			h.Probes[j].Kind = kind
		}
	}
	h.LastResult = &route.ProbeResult{At: h.LastChecked, Kind: kind, Message: message, Remote: b.Address(), Duration: 400 * time.Microsecond}
	lead := "Out of rotation"
	if h.InRotation {
		lead = "Still gets requests because nothing else is verified (panic=all)"
	} else {
		h.EffectiveWeight, h.InFlight = 0, 0
		h.Load.InFlight.Store(0)
	}
	h.Explain = fmt.Sprintf("%s: %d probes in a row failed; last: %s at %s (GET http://%s/health). Next probe at %s; 1 success needed.", lead, n, message, clock(h.LastChecked), b.Address(), clock(h.NextCheckAt))
	h.History = append(h.History, route.Transition{At: h.Since, Rev: 90001, Backend: b.ID, Layer: "active", From: "up", To: "down", Cause: "probe", Kind: kind, Message: message, Fail: 1, InRotation: h.InRotation})
	return s
}

// is sets the entrypoint's state.
func (s *service) is(state route.EntrypointState, since time.Duration, explain string) *service {
	s.h.State, s.h.Since, s.h.Explain = state, s.w.ago(since), explain
	s.h.History = append(s.h.History, route.Transition{At: s.h.Since, Rev: 90001, Layer: "route", From: "ok", To: string(state), Cause: "probe", Message: ""})
	return s
}

// done puts the entrypoint into the view.
func (s *service) done(change ...func(*router.EntrypointView)) *router.EntrypointView {
	slices.SortFunc(s.h.Backends, func(a, b route.BackendHealth) int { return strings.Compare(a.Backend.ID, b.Backend.ID) })
	h := &s.h
	h.Total = len(h.Backends)
	for i := range h.Backends {
		b := &h.Backends[i]
		s.e.Backends = append(s.e.Backends, b.Backend)
		if b.InRotation {
			h.InRotation++
		}
		switch b.State {
		case route.StateDown, route.StateGated:
			h.Unhealthy++
		case route.StatePending:
			h.Pending++
		case route.StateUnchecked:
			h.Disabled++
		case route.StateLeaving, route.StateUp:
		}
		if b.Check != nil {
			h.DetectionBound = max(h.DetectionBound, b.Check.DetectionBound)
			s.w.view.Health.Checks = append(s.w.view.Health.Checks, *b.Check)
		}
	}
	if h.Explain == "" {
		h.Explain = fmt.Sprintf("Healthy: %s in rotation, verified.", countOf(h.InRotation, "backend"))
	}
	s.v.Entrypoint, s.v.Health, s.v.Diagnostics = s.e, *h, s.e.Diagnostics
	for _, c := range change {
		c(&s.v)
	}
	s.w.view.Entrypoints = append(s.w.view.Entrypoints, s.v)
	return &s.w.view.Entrypoints[len(s.w.view.Entrypoints)-1]
}

// built completes the view.
func (w *world) built() *router.View {
	v := &w.view
	slices.SortFunc(v.Entrypoints, func(a, b router.EntrypointView) int { return cmp.Compare(a.Entrypoint.ID, b.Entrypoint.ID) })
	var entries []router.Entry
	for i := range v.Entrypoints {
		e := &v.Entrypoints[i]
		cell := &route.RotationCell{}
		var members []route.Member
		for j := range e.Health.Backends {
			if b := &e.Health.Backends[j]; b.InRotation {
				p := &route.Placement{Entrypoint: e.Entrypoint.ID, Backend: b.Backend, Load: b.Load}
				members = append(members, route.Member{Placement: p, Weight: max(b.EffectiveWeight, 1), Reason: b.RotationReason})
			}
		}
		r := route.NewRotation(9, route.TierVerified, members)
		r.Reason, r.Panic = e.Health.Reason, e.Health.Panic.Active
		cell.Store(r)
		entries = append(entries, router.Entry{Entrypoint: e.Entrypoint, Cell: cell})
	}
	v.Table = router.Build(v.Generation, entries)
	slices.SortFunc(v.Health.Checks, func(a, b route.CheckView) int { return cmp.Compare(a.ID, b.ID) })
	return v
}

// steady are the services that are well in every world.
func (w *world) steady() {
	shop := w.add("shop", "shop", "shop.example.com").hosts("www.shop.example.com").replicas(3, 8080)
	shop.e.Options.Headers = []route.HeaderRule{{Name: "X-Internal-Key", Value: canary, Direction: route.OnRequest}, {Name: "Server", Direction: route.OnResponse}}
	shop.e.Match.Headers = []route.KeyValue{{Key: "X-Channel", Value: canary}}
	shop.done()
	w.add("shop", "shop-api", "shop.example.com").path("/api").replicas(4, 8080).done()
	w.add("blog", "blog", "blog.example.com").hosts("www.blog.example.com").replicas(1, 2368).done()
	w.add("monitoring", "grafana", "grafana.example.com").replicas(1, 3000).done()
	w.add("monitoring", "prometheus", "prometheus.example.com").replicas(1, 9090).done()
	w.add("chat", "chat", "chat.example.com").replicas(2, 8065).done()
	w.add("docs", "docs", "docs.example.com").replicas(2, 80).done()
	w.add("storage", "minio", "s3.example.com").hosts("*.s3.example.com").replicas(4, 9000).done()
	w.add("storage", "registry", "registry.example.com").path("/v2").replicas(1, 5000).done()
	status := w.add("", "status", "status.example.com").replicas(1, 8080, func(h *route.BackendHealth) {
		h.State, h.Healthy, h.RotationReason, h.Source, h.Check, h.Backend.Check = route.StateUnchecked, nil, route.InUnchecked, "none", nil, nil
		h.Backend.Container, h.Backend.ID, h.Backend.Name, h.Probes, h.LastResult = nil, h.Backend.Address(), "", nil, nil
		h.LastChecked, h.NextCheckAt, h.History, h.Counters, h.Message = time.Time{}, time.Time{}, nil, route.Counters{}, ""
		h.Explain = "In rotation; it is not probed (healthCheck=false), so it counts as healthy."
	})
	status.e.Source, status.e.Labels = "file", []route.Origin{{Key: "host", Label: "entrypoints[0].config.hostnames"}}
	status.h.State, status.h.Explain = route.EntrypointUnchecked, "Not probed: 1 of 1 backend in rotation."
	status.done()
}

// series are made-up traffic.
type series struct {
	now    time.Time
	broken map[string]float64 // share of errors of the last minutes, by entrypoint
	quiet  bool
}

func (s series) points(seed string, rate, errors float64, p50 time.Duration) []api.TrafficPoint {
	if s.quiet {
		return nil
	}
	const n = 120
	sum := sha256.Sum256([]byte(seed))
	list := make([]api.TrafficPoint, n)
	for i := range list {
		p := &list[i]
		wave := 1 + .25*math.Sin(float64(i)/14+float64(sum[0])) + .18*math.Sin(float64(i)/3.1) + (float64(sum[i%32])/255-.5)*.3
		p.At, p.Step = s.now.Add(-time.Duration(n-1-i)*5*time.Second), 5*time.Second
		p.Requests = uint64(max(rate*wave, 0) * 5)
		if i > n-40 {
			p.Errors = uint64(float64(p.Requests) * min(errors*(.7+float64(sum[(i+7)%32])/255*.6), 1))
		}
		p.P50 = time.Duration(float64(p50) * (.8 + wave/4))
		p.P99 = time.Duration(float64(p50) * (4 + 3*wave))
	}
	return list
}

func minute(points []api.TrafficPoint) api.TrafficMinute {
	var m api.TrafficMinute
	for i := max(len(points)-12, 0); i < len(points); i++ {
		p := &points[i]
		m.Span, m.Requests, m.Errors, m.P50, m.P99 = m.Span+p.Step, m.Requests+p.Requests, m.Errors+p.Errors, p.P50, p.P99
	}
	return m
}

func (s series) Total() []api.TrafficPoint {
	var worst float64
	for _, share := range s.broken {
		worst = max(worst, share)
	}
	return s.points("total", 412, worst*.06, 11*time.Millisecond)
}

func (s series) Entrypoint(id string) []api.TrafficPoint {
	sum := sha256.Sum256([]byte(id))
	return s.points(id, .4+float64(sum[0])/3, s.broken[id], time.Duration(3+sum[1]%40)*time.Millisecond)
}

func (s series) TotalMinute() api.TrafficMinute               { return minute(s.Total()) }
func (s series) EntrypointMinute(id string) api.TrafficMinute { return minute(s.Entrypoint(id)) }
func (s series) BackendMinute(id string, load *route.Load) api.TrafficMinute {
	return minute(s.Entrypoint(id))
}
