package metrics

import "slices"

// Family is one metric: what its series mean and how they are told apart.
type Family struct {
	Name   string
	Type   string // counter, gauge, histogram, summary
	Labels []string
	Help   string
}

// family numbers the metrics; the table below names them.
type family int

const (
	buildInfo family = iota
	entrypoints
	entrypointState
	entrypointPanic
	entrypointBackends
	entrypointRotation
	entrypointRequests
	entrypointDuration
	entrypointInFlight
	entrypointWaiting
	entrypointHeld
	entrypointRetries
	entrypointCut
	entrypointQueue
	entrypointQueued
	entrypointRejected
	entrypointBreaker
	entrypointOpens
	unroutedRequests
	backendInfo
	backendUp
	backendState
	backendInRotation
	backendRequests
	backendInFlight
	backendTunnels
	backendRetries
	backendCut
	backendAbandoned
	backendProbes
	backendProbeFailures
	backendTransitions
	backendLate
	backendNextCheck
	backendBound
	backendPassive
	backendPassiveFailures
	backendEjections
	backendTrials
	backendBlocked
	backendAdmin
	backendWarmup
	backendFull
	probesFinished
	probeResults
	probeDuration
	probesLate
	probesLocal
	probesRunning
	probesWaiting
	tableSwaps
	tableBuild
	providerConnected
	providerSync
	providerAge
	providerCandidates
	providerRejected
	diagnostics
	accessLines
	accessDropped
	webhookSent
	webhookFailed
	webhookDropped
	webhookRetries
	webhookWaiting
	numFamilies
)

// Families lists every metric of ours, in the order of the reference. Those of the Go
// runtime and of the process come from client_golang.
func Families() []Family { t := table(); return t[:] }

// table is the one place where metrics are named. Names and help are part of the
// contract; docs/reference/metrics.md is made of it.
func table() [numFamilies]Family {
	var t [numFamilies]Family
	for _, part := range []map[family]Family{entrypointFamilies(), backendFamilies(), routerFamilies()} {
		for i, f := range part {
			f.Name = "fairlead_" + f.Name
			t[i] = f
		}
	}
	return t
}

// of adds a label.
func of(labels []string, more string) []string { return append(slices.Clip(labels), more) }

func entrypointFamilies() map[family]Family {
	entry := []string{"entrypoint"}
	return map[family]Family{
		buildInfo:   {"build_info", "gauge", []string{"version", "revision", "goversion"}, "1; the labels say what runs."},
		entrypoints: {"entrypoints", "gauge", []string{"state"}, "Entrypoints by state: ok, partial, panic, down, pending, unchecked."},

		entrypointState:    {"entrypoint_state", "gauge", of(entry, "state"), "1 for the state that the entrypoint is in; other states have no series."},
		entrypointPanic:    {"entrypoint_panic", "gauge", entry, "1 while unverified backends serve because nothing is verified, else 0."},
		entrypointBackends: {"entrypoint_backends", "gauge", entry, "Backends of the entrypoint, in rotation or not."},
		entrypointRotation: {"entrypoint_rotation_size", "gauge", entry, "Backends in rotation, full ones included; 0 means that clients get an error."},
		entrypointRequests: {"entrypoint_requests_total", "counter", of(entry, "class"), "Requests by what the client got: 1xx (tunnels) to 5xx, or none when it left before an answer."},
		entrypointDuration: {"entrypoint_request_duration_seconds", "histogram", entry, "Time from a request's head to its response's head; no series before the first request."},
		entrypointInFlight: {"entrypoint_requests_in_flight", "gauge", entry, "Requests being served, tunnels included."},
		entrypointWaiting:  {"entrypoint_requests_waiting", "gauge", entry, "Requests that wait for a backend now (holdFor)."},
		entrypointHeld:     {"entrypoint_requests_held_total", "counter", entry, "Requests that ever waited for a backend."},
		entrypointRetries:  {"entrypoint_retries_total", "counter", entry, "Contacts with backends beyond a request's first one."},
		entrypointCut:      {"entrypoint_responses_cut_total", "counter", entry, "Responses that broke off after their head on the backend's side."},
		entrypointQueue:    {"entrypoint_queue_length", "gauge", entry, "Requests in line because every backend is full (maxConnections)."},
		entrypointQueued:   {"entrypoint_queue_waits_total", "counter", entry, "Requests that ever waited in that line."},
		entrypointRejected: {"entrypoint_queue_rejections_total", "counter", entry, "Requests that got 503 because every backend was full: the line was full too, or their time in it was over."},
		entrypointBreaker:  {"entrypoint_breaker_state", "gauge", of(entry, "state"), "1 for the state of the circuit breaker: closed, open, half_open; no series without one."},
		entrypointOpens:    {"entrypoint_breaker_opens_total", "counter", entry, "Times that the circuit breaker opened; no series without one."},
		unroutedRequests:   {"unrouted_requests_total", "counter", []string{"class"}, "Requests that no entrypoint took, by what the client got."},
	}
}

func backendFamilies() map[family]Family {
	backend := []string{"entrypoint", "backend"}
	return map[family]Family{
		backendInfo:          {"backend_info", "gauge", []string{"entrypoint", "backend", "address", "container"}, "1; joins a backend's id with its address and container."},
		backendUp:            {"backend_up", "gauge", backend, "1 while probes, traffic and Docker have nothing against the backend, 0 while one of them says that it fails; no series while nobody knows."},
		backendState:         {"backend_state", "gauge", of(backend, "state"), "1 for the state that the backend is in; other states have no series."},
		backendInRotation:    {"backend_in_rotation", "gauge", backend, "1 while requests are sent to the backend, else 0."},
		backendRequests:      {"backend_requests_total", "counter", of(backend, "class"), "Contacts by the backend's answer: 1xx to 5xx, or none for a contact without an answer, whoever gave up. A status from 600 on is 5xx."},
		backendInFlight:      {"backend_requests_in_flight", "gauge", backend, "Requests that the backend has, tunnels included."},
		backendTunnels:       {"backend_tunnels", "gauge", backend, "Open tunnels (WebSocket)."},
		backendRetries:       {"backend_retries_total", "counter", backend, "Contacts that followed another one of the same request."},
		backendCut:           {"backend_responses_cut_total", "counter", backend, "Responses that broke off after their head."},
		backendAbandoned:     {"backend_requests_abandoned_total", "counter", backend, "Contacts of class none that are no failure of the backend: the client left or broke its request off, or the router ended them."},
		backendProbes:        {"backend_probes_total", "counter", backend, "Probes with a result that counted."},
		backendProbeFailures: {"backend_probe_failures_total", "counter", backend, "Probes that failed."},
		backendTransitions:   {"backend_transitions_total", "counter", backend, "Changes of the backend's state."},
		backendLate:          {"backend_late_results_total", "counter", backend, "Results dropped because the backend's check had changed meanwhile."},
		backendNextCheck:     {"backend_next_check_timestamp_seconds", "gauge", backend, "When the next probe is due; no series while none is planned."},
		backendBound:         {"backend_detection_bound_seconds", "gauge", backend, "Longest time in which probes notice that the backend failed; no series when it is not probed."},

		backendPassive:         {"backend_passive_state", "gauge", of(backend, "state"), "1 for the state that traffic put the backend in: closed, open (ejected), half_open (on trial); no series while traffic ejects nobody, here and below."},
		backendPassiveFailures: {"backend_passive_failures_total", "counter", backend, "Real requests that counted as failures of the backend (passive.status, passive.latency, connections)."},
		backendEjections:       {"backend_ejections_total", "counter", backend, "Times that the backend was ejected."},
		backendTrials:          {"backend_trials_total", "counter", backend, "Requests that were sent to try an ejected backend."},
		backendBlocked:         {"backend_ejection_blocked", "gauge", of(backend, "reason"), "1 while the backend is not ejected although it should be: cap (passive.maxEjectionPercent) or last (nothing verified would be left)."},
		backendAdmin:           {"backend_admin_state", "gauge", of(backend, "state"), "1 for the operator's word: ready, drain, maintenance."},
		backendWarmup:          {"backend_warmup_percent", "gauge", backend, "Share of its weight that the backend gets while it starts slowly; no series otherwise."},
		backendFull:            {"backend_full", "gauge", backend, "1 while the backend has as many requests as maxConnections permits, else 0; no series without a limit."},
	}
}

func routerFamilies() map[family]Family {
	return map[family]Family{
		probesFinished: {"probes_finished_total", "counter", nil, "Probes that ended, whatever came of them."},
		probeResults:   {"probe_results_total", "counter", []string{"kind"}, "Probes whose result counted, by what they saw: ok, or the kind of the failure."},
		probeDuration:  {"probe_duration_seconds", "histogram", []string{"type"}, "Time that probes took, by type: tcp, http, tls, grpc, websocket; no series before the first of a type."},
		probesLate:     {"probes_late_results_total", "counter", nil, "Results dropped because their backend or check had gone or changed meanwhile."},
		probesLocal:    {"probes_local_errors_total", "counter", nil, "Probes that failed in the router itself, such as by a lack of file descriptors; no verdict follows from them."},
		probesRunning:  {"probes_running", "gauge", nil, "Probes at this moment."},
		probesWaiting:  {"probes_waiting", "gauge", nil, "Probes that are due and have no room to run (healthCheck.concurrency, perHost)."},

		tableSwaps: {"table_swaps_total", "counter", nil, "Tables that came into force."},
		tableBuild: {"table_build_duration_seconds", "summary", nil, "Time from a provider's snapshot to its table in force, in sum and number."},

		providerConnected:  {"provider_connected", "gauge", []string{"provider"}, "1 while the source of an enabled provider is reachable, else 0."},
		providerSync:       {"provider_last_sync_timestamp_seconds", "gauge", []string{"provider"}, "When the provider last read its whole source; no series before."},
		providerAge:        {"provider_sync_age_seconds", "gauge", []string{"provider"}, "How long ago that was."},
		providerCandidates: {"provider_candidates", "gauge", []string{"provider"}, "Containers or entries that the provider sees."},
		providerRejected:   {"provider_rejected_candidates", "gauge", []string{"provider"}, "Candidates that are not routed; GET /diagnostics says why."},
		diagnostics:        {"diagnostics", "gauge", []string{"severity"}, "Findings of GET /diagnostics: error, warn, info."},

		accessLines:   {"access_log_lines_total", "counter", nil, "Lines of the access log that were written; no series while it is off."},
		accessDropped: {"access_log_dropped_lines_total", "counter", nil, "Lines that were not written because the writer did not keep up or could not write."},

		webhookSent:    {"webhook_notices_sent_total", "counter", nil, "Notices that the receiver took; no series without notify.webhook.url, here and below."},
		webhookFailed:  {"webhook_notices_failed_total", "counter", nil, "Notices that were given up after all attempts, or that the receiver refused for good."},
		webhookDropped: {"webhook_notices_dropped_total", "counter", nil, "Notices that made room for newer ones (notify.webhook.queue), or that a stop left unsent."},
		webhookRetries: {"webhook_retries_total", "counter", nil, "Attempts beyond the first one of a notice."},
		webhookWaiting: {"webhook_notices_waiting", "gauge", nil, "Notices that wait for their turn."},
	}
}
