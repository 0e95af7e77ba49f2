package api

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// canary stands in every place of the views that must never show.
const canary = "c4nary-s3cret"

// epoch0 is the moment at which the views are taken.
var epoch0 = time.Unix(1_800_000_000, 0).UTC()

func ago(d time.Duration) time.Time { return epoch0.Add(-d) }

// fixed is a viewer of one view.
type fixed struct{ view *router.View }

func (f fixed) View() *router.View { return f.view }

func host(text string) route.HostPattern {
	h, err := route.ParseHostPattern(text)
	if err != nil {
		panic(err)
	}
	return h
}

// container returns a backend on a container.
func container(name, addr string, port uint16) route.Backend {
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	return route.Backend{
		ID: id[:12], Name: name, Host: addr, Port: port, Scheme: route.SchemeHTTP, Weight: 100,
		Incarnation: "docker/" + id[:12] + "/1/" + route.JoinHostPort(addr, port), DialTimeout: 2 * time.Second,
		Docker: route.DockerHealthPrefer, Provider: route.ProviderPresent, StartedAt: ago(time.Hour),
		Container: &route.Container{
			ID: id, Name: name, Image: "registry.example/app:1", CreatedAt: ago(time.Hour), StartedAt: ago(time.Hour), Health: "none",
		},
	}
}

func httpCheck(b *route.Backend) {
	c := route.DefaultCheck()
	c.Type, c.Scheme, c.Port, c.Path = route.ProbeHTTP, route.SchemeHTTP, b.Port, "/health"
	c.Host = b.Address()
	b.Check = &c
}

func entrypoint(name string, backends ...route.Backend) *route.Entrypoint {
	slices.SortFunc(backends, func(a, b route.Backend) int { return strings.Compare(a.ID, b.ID) })
	return &route.Entrypoint{
		ID: "http_" + name, Name: name, Protocol: route.HTTP, Source: "docker", Project: "shop", Claim: ago(2 * time.Hour),
		Match: route.Match{
			Hosts: []route.HostPattern{host(name + ".example.com")},
			Path:  route.PathRule{Kind: route.PathPrefix, Value: "/"},
		},
		Options: route.DefaultOptions(), Backends: backends,
	}
}

// up is a verified backend.
func up(b route.Backend) route.BackendHealth {
	yes := true
	h := route.BackendHealth{
		Backend: b, State: route.StateUp, Healthy: &yes, InRotation: true, RotationReason: route.InVerified, Source: "active",
		Since: ago(10 * time.Minute), LastChecked: ago(3 * time.Second), EffectiveWeight: b.Weight,
		Counters:    route.Counters{Probes: 61, Failures: 1, Transitions: 1},
		LastResult:  &route.ProbeResult{At: ago(3 * time.Second), OK: true, Message: "200", Status: 200, Remote: b.Address(), Duration: 1500 * time.Microsecond, Phases: route.Phases{DNS: -1, Connect: 200 * time.Microsecond, TLS: -1, FirstByte: time.Millisecond, Body: -1}},
		NextCheckAt: epoch0.Add(7 * time.Second), InFlight: 2, Explain: "In rotation: the last probe passed.",
	}
	return checked(h)
}

func checked(h route.BackendHealth) route.BackendHealth {
	if h.Backend.Check == nil {
		return h
	}
	h.Check = &route.CheckView{
		ID: "c-" + h.Backend.ID, Check: *h.Backend.Check, Incarnation: h.Backend.Incarnation,
		Target: route.JoinHostPort(h.Backend.Host, h.Backend.Check.Port), SharedWith: []string{"http_other", "http_this"},
		Pace: "normal", NextLaunch: h.NextCheckAt, DetectionBound: 17 * time.Second,
	}
	return h
}

// down is a backend that failed its probe; in panic it serves nevertheless.
func down(b route.Backend, reason route.RotationReason) route.BackendHealth {
	no := false
	h := up(b)
	h.State, h.Healthy, h.RotationReason = route.StateDown, &no, reason
	h.InRotation = reason == route.InPanicAll || reason == route.InPanicThreshold
	h.Kind, h.Message = route.KindBadStatus, "the status is 503"
	h.Since, h.Hint = ago(42*time.Second), "look at the log of the application"
	h.Counters = route.Counters{ConsecutiveFail: 1, Probes: 61, Failures: 4, Transitions: 2, LateResults: 1}
	h.LastResult = &route.ProbeResult{At: ago(3 * time.Second), Kind: route.KindBadStatus, Message: "the status is 503", Status: 503, Remote: b.Address(), Duration: time.Millisecond, Phases: route.Phases{DNS: -1, TLS: -1, Body: -1}, Stale: true}
	h.Explain = "Out of rotation: the last probe failed: the status is 503 (GET /health). Next probe in 7 s."
	h.History = []route.Transition{
		{At: ago(10 * time.Minute), Rev: 3, Backend: b.ID, Layer: "active", From: "pending", To: "up", Cause: "probe", OK: 1, InRotation: true},
		{At: ago(42 * time.Second), Rev: 9, Backend: b.ID, Layer: "active", From: "up", To: "down", Cause: "probe", Kind: route.KindBadStatus, Message: "the status is 503", Fail: 1},
	}
	return h
}

func pending(b route.Backend) route.BackendHealth {
	h := route.BackendHealth{
		Backend: b, State: route.StatePending, InRotation: true, RotationReason: route.InPendingNoVerified, Source: "none",
		Since: ago(time.Second), EffectiveWeight: b.Weight, NextCheckAt: epoch0, Explain: "Pending: not probed yet.",
	}
	return checked(h)
}

// health adds up what the engine says about an entrypoint.
func health(state route.EntrypointState, backends ...route.BackendHealth) route.EntrypointHealth {
	slices.SortFunc(backends, func(a, b route.BackendHealth) int { return strings.Compare(a.Backend.ID, b.Backend.ID) })
	h := route.EntrypointHealth{
		State: state, Total: len(backends), Since: ago(42 * time.Second), Rev: 9, Backends: backends,
		Panic: route.PanicView{Mode: route.PanicAll}, Explain: "words about " + string(state),
	}
	for i := range backends {
		b := &backends[i]
		if b.InRotation {
			h.InRotation++
		}
		if b.Check != nil {
			h.DetectionBound = max(h.DetectionBound, b.Check.DetectionBound)
		}
		switch b.State {
		case route.StatePending:
			h.Pending++
		case route.StateUnchecked:
			h.Disabled++
		case route.StateDown, route.StateGated, route.StateEjected, route.StateTrial:
			h.Unhealthy++
		}
		if b.InRotation && (b.State == route.StateUp || b.State == route.StateUnchecked) {
			h.Healthy++
		}
	}
	return h
}

// richView has an entrypoint in every state there is, with a canary wherever a
// secret may stand.
func richView() *router.View {
	v := &router.View{
		Generation: 7, Global: []route.Diagnostic{route.Diagnose("I108", "set FAIRLEAD_CONTAINER_ID", "the own container was not found")},
		Entrypoints: []router.EntrypointView{
			shakenView(), servicedView(), busyView(), scarceView(), probedView(),
			backupView(), checkView(), closedView("E104"), closedView("E113"), gatedView(), leavingView(), okView(), panicView(),
			partialView(), pendingView(), retainedView(), shadowedView(), sixView(), startingView(), streamView(), uncheckedView(),
		},
		Providers: []route.ProviderStatus{
			{Name: "docker", Enabled: true, Configured: true, Connected: true, Phase: route.PhaseReady, Since: ago(time.Hour), LastSync: ago(30 * time.Second), EngineVersion: "29.7.0", APIVersion: "1.51", Candidates: 21, Ignored: 3, Rejected: 2, Notes: []string{"/networks is denied"}},
			{Name: "file", Enabled: true, Configured: true, Phase: route.PhaseStale, Since: ago(time.Minute), LastSync: ago(time.Hour), LastError: "routes.yaml does not exist", Hint: "create it"},
			{Name: "podman"},
		},
		Candidates: []route.CandidateDiagnostics{{CandidateID: "aaaa", Diagnostics: []route.Diagnostic{
			{Code: "E104", Severity: route.SeverityError, Message: "no valid user is left", Label: "sozune.http.closed.auth.basci", Value: route.Redacted, Hint: "set auth.basic"},
		}}},
		Rejected: []route.Rejected{
			{CandidateID: "bbbb", Name: "forgotten", Project: "shop", Service: "forgotten", Reason: "not enabled", Code: "E001", Hint: "add the label sozune.enable=true"},
			{CandidateID: "cccc", Name: "shop-run-1", Reason: "ignored: one-off"},
		},
		Health: &route.HealthView{Rev: 9, Sets: 3, Settled: true},
	}
	slices.SortFunc(v.Entrypoints, func(a, b router.EntrypointView) int { return strings.Compare(a.Entrypoint.ID, b.Entrypoint.ID) })
	for i := range v.Entrypoints {
		for _, b := range v.Entrypoints[i].Health.Backends {
			if b.Check != nil {
				v.Health.Checks = append(v.Health.Checks, *b.Check)
			}
		}
	}
	slices.SortFunc(v.Health.Checks, func(a, b route.CheckView) int { return strings.Compare(a.ID, b.ID) })
	return withTable(v)
}

// withTable builds the table that /resolve reads.
func withTable(v *router.View) *router.View {
	var entries []router.Entry
	for i := range v.Entrypoints {
		e := &v.Entrypoints[i]
		cell := &route.RotationCell{}
		var members []route.Member
		for _, b := range e.Health.Backends {
			if b.InRotation {
				p := &route.Placement{Entrypoint: e.Entrypoint.ID, Backend: b.Backend, Load: &route.Load{}}
				members = append(members, route.Member{Placement: p, Weight: max(b.EffectiveWeight, 1), Reason: b.RotationReason})
			}
		}
		rot := route.NewRotation(9, route.TierVerified, members)
		if len(members) == 0 {
			rot.Reason = e.Health.Reason
		}
		cell.Store(rot)
		entries = append(entries, router.Entry{Entrypoint: e.Entrypoint, Cell: cell})
	}
	v.Table = router.Build(v.Generation, entries)
	return v
}

func okView() router.EntrypointView {
	a, b := container("shop-api-1", "172.20.0.2", 8080), container("shop-api-2", "172.20.0.3", 8080)
	httpCheck(&a)
	httpCheck(&b)
	e := entrypoint("api", a, b)
	e.Match.Path = route.PathRule{Kind: route.PathPrefix, Value: "/api"}
	e.Match.Methods = []string{"GET", "POST"}
	e.Match.Headers = []route.KeyValue{{Key: "X-Key", Value: canary}, {Key: "X-There", Bare: true}}
	e.Match.Query = []route.KeyValue{{Key: "token", Value: canary}, {Key: "v", Bare: true}}
	e.Match.ClientIPs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	e.Match.Priority = 5
	e.Options.StripPrefix = true
	e.Options.BackendTimeout = 1500 * time.Millisecond
	e.Options.Headers = []route.HeaderRule{
		{Name: "X-Api-Key", Value: canary, Direction: route.OnRequest}, {Name: "Server", Direction: route.OnResponse},
	}
	first := up(a)
	first.Probes = []route.ProbeTick{{At: ago(13 * time.Second), Duration: time.Second, Kind: route.KindTimeout}, {At: ago(3 * time.Second), OK: true, Duration: 1500 * time.Microsecond}}
	return router.EntrypointView{Entrypoint: e, Health: health(route.EntrypointOK, first, up(b))}
}

func partialView() router.EntrypointView {
	a, b := container("half-1", "172.20.0.4", 80), container("half-2", "172.20.0.5", 80)
	httpCheck(&a)
	httpCheck(&b)
	return router.EntrypointView{Entrypoint: entrypoint("half", a, b), Health: health(route.EntrypointPartial, up(a), down(b, route.OutProbeFailed))}
}

func panicView() router.EntrypointView {
	a, b := container("sick-1", "172.20.0.6", 80), container("sick-2", "172.20.0.7", 80)
	httpCheck(&a)
	httpCheck(&b)
	h := health(route.EntrypointPanic, down(a, route.InPanicAll), down(b, route.InPanicAll))
	h.Panic = route.PanicView{Active: true, Mode: route.PanicAll, Since: ago(42 * time.Second), Reason: "no backend is verified"}
	h.History = []route.Transition{{At: ago(42 * time.Second), Rev: 9, Layer: "route", From: "ok", To: "panic", Cause: "probe"}}
	return router.EntrypointView{Entrypoint: entrypoint("sick", a, b), Health: h}
}

func pendingView() router.EntrypointView {
	a := container("young-1", "172.20.0.8", 80)
	httpCheck(&a)
	h := pending(a)
	h.Kind, h.Message = route.KindConnectionRefused, "connection refused" // within initialDelay
	return router.EntrypointView{Entrypoint: entrypoint("young", a), Health: health(route.EntrypointPending, h)}
}

func gatedView() router.EntrypointView {
	a := container("gated-1", "172.20.0.9", 80)
	httpCheck(&a)
	a.Provider, a.Container.Health = route.ProviderUnhealthy, "unhealthy"
	h := up(a)
	h.State, h.Healthy, h.InRotation, h.RotationReason, h.Source = route.StateGated, nil, false, route.OutDockerUnhealthy, "provider"
	h.Kind, h.Message, h.EffectiveWeight = route.KindDockerUnhealthy, "Docker's HEALTHCHECK says unhealthy", 0
	out := health(route.EntrypointDown, h)
	out.Reason, out.ServesWhenDown = route.ReasonDockerUnhealthy, 503
	return router.EntrypointView{Entrypoint: entrypoint("gated", a), Health: out}
}

func startingView() router.EntrypointView {
	a := container("starting-1", "172.20.0.10", 80)
	httpCheck(&a)
	a.Provider, a.Container.Health = route.ProviderStarting, "starting"
	h := pending(a)
	h.RotationReason, h.Kind, h.Source, h.InRotation = route.OutDockerStarting, route.KindDockerStarting, "provider", false
	return router.EntrypointView{Entrypoint: entrypoint("starting", a), Health: health(route.EntrypointPending, h)}
}

func leavingView() router.EntrypointView {
	a := container("leaving-1", "172.20.0.11", 80)
	httpCheck(&a)
	a.Provider = route.ProviderLeaving
	h := up(a)
	h.State, h.Healthy, h.InRotation, h.RotationReason, h.Source = route.StateLeaving, nil, false, route.OutLeaving, "provider"
	h.Kind, h.EffectiveWeight = route.KindLeaving, 0
	out := health(route.EntrypointDown, h)
	out.Reason = route.ReasonLeaving
	return router.EntrypointView{Entrypoint: entrypoint("leaving", a), Health: out}
}

func retainedView() router.EntrypointView {
	e := entrypoint("gone")
	e.RetainedUntil = epoch0.Add(48 * time.Second)
	e.Absent = []route.Absence{{CandidateID: "dddd", Name: "gone-1", Why: route.AbsentRetained, Until: e.RetainedUntil}}
	return router.EntrypointView{Entrypoint: e, Health: health(route.EntrypointPending)}
}

func closedView(code string) router.EntrypointView {
	name := "closed-" + strings.ToLower(code)
	a := container(name, "172.20.0.12", 80)
	httpCheck(&a)
	e := entrypoint(name, a)
	e.FailClosed = &route.FailClosed{Code: code, Label: "sozune.http." + name + ".auth.basci"}
	e.Diagnostics = []route.Diagnostic{{Code: code, Severity: route.SeverityError, Message: "the route answers 503", Label: e.FailClosed.Label, Value: route.Redacted, Hint: "correct it"}}
	return router.EntrypointView{Entrypoint: e, Health: health(route.EntrypointOK, up(a)), Diagnostics: e.Diagnostics}
}

func shadowedView() router.EntrypointView {
	a := container("late-1", "172.20.0.13", 80)
	e := entrypoint("late", a)
	h := up(a)
	d := route.Diagnose("W018", "change host, path or priority of one", "the same requests as http_api, which is older")
	return router.EntrypointView{Entrypoint: e, Health: health(route.EntrypointOK, h), ShadowedBy: "http_api", Diagnostics: []route.Diagnostic{d}}
}

func uncheckedView() router.EntrypointView {
	a := container("plain-1", "172.20.0.14", 80)
	h := up(a)
	h.State, h.Healthy, h.RotationReason, h.Source = route.StateUnchecked, nil, route.InUnchecked, ""
	h.LastChecked, h.LastResult, h.NextCheckAt, h.Counters = time.Time{}, nil, time.Time{}, route.Counters{}
	return router.EntrypointView{Entrypoint: entrypoint("plain", a), Health: health(route.EntrypointUnchecked, h)}
}

// checkView has an HTTPS check with a port, a host and headers of its own.
func checkView() router.EntrypointView {
	a := container("secure-1", "172.20.0.15", 8443)
	a.Scheme, a.TLS = route.SchemeHTTPS, route.BackendTLS{ServerName: "secure.internal"}
	httpCheck(&a)
	c := *a.Check
	c.Scheme, c.Port, c.SNI, c.Host = route.SchemeHTTPS, 9000, "secure.internal", "secure.internal:9000"
	c.Path = "/h?token=" + canary + "&" + canary + "&mode=full"
	c.Headers = []route.CheckHeader{{Name: "Authorization", Value: canary}, {Name: "X-Probe", Value: canary}}
	c.Status, _ = route.ParseStatusSet("200")
	c.FastInterval, c.Initial, c.UnhealthyThreshold, c.HealthyThreshold = time.Second, route.InitialDown, 3, 2
	a.Check = &c
	return router.EntrypointView{Entrypoint: entrypoint("secure", a), Health: health(route.EntrypointOK, up(a))}
}

// backupView serves from its backup (weight 0) because the primary is down.
func backupView() router.EntrypointView {
	a, b := container("main-1", "172.20.0.16", 80), container("spare-1", "172.20.0.17", 80)
	httpCheck(&a)
	httpCheck(&b)
	b.Weight = 0
	spare := up(b)
	spare.RotationReason, spare.EffectiveWeight = route.InBackupActive, 1
	h := health(route.EntrypointPartial, down(a, route.OutProbeFailed), spare)
	h.BackupsServing = true
	return router.EntrypointView{Entrypoint: entrypoint("backup", a, b), Health: h}
}

// sixView is a file's entrypoint with an IPv6 backend; its provider is gone.
func sixView() router.EntrypointView {
	b := route.Backend{
		ID: "[fd00::5]:80", Host: "fd00::5", Port: 80, Scheme: route.SchemeHTTP, Weight: 1, Incarnation: "file/[fd00::5]:80/0",
		Provider: route.ProviderPresent, DialTimeout: time.Second,
	}
	c := route.DefaultCheck()
	c.Port = 80
	b.Check = &c
	e := entrypoint("six", b)
	e.Source, e.Project, e.Match.Hosts = "file", "", []route.HostPattern{host("**.six.example.com"), host("six.example.com")}
	e.Match.ClientNobody = true
	e.Options.AddPrefix, e.Options.BackendTimeout = "/v2", 0
	return router.EntrypointView{Entrypoint: e, Health: health(route.EntrypointOK, up(b)), Stale: true}
}

// streamView is an entrypoint of a protocol that the table does not route yet.
func streamView() router.EntrypointView {
	e := entrypoint("db")
	e.ID, e.Protocol, e.Match.Hosts, e.Match.Path = "tcp_db", route.TCP, nil, route.PathRule{}
	h := health(route.EntrypointDown)
	h.Reason = route.ReasonNoBackends
	return router.EntrypointView{Entrypoint: e, Health: h}
}

// manyEntrypoints is a large view without a table.
func manyEntrypoints(n int) *router.View {
	v := richView()
	one := okView()
	v.Entrypoints = make([]router.EntrypointView, n)
	for i := range v.Entrypoints {
		e := *one.Entrypoint
		e.ID = fmt.Sprintf("http_%06d", i)
		v.Entrypoints[i] = router.EntrypointView{Entrypoint: &e, Health: one.Health}
	}
	return v
}
