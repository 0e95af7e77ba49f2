package router

import (
	"slices"

	"fairlead/router/route"
)

// equalEntrypoints reports whether nothing that anybody reads differs.
func equalEntrypoints(a, b *route.Entrypoint) bool {
	if a == b {
		return true
	}
	return a.ID == b.ID && a.Identity == b.Identity && a.Name == b.Name && a.Protocol == b.Protocol && a.Source == b.Source &&
		a.Project == b.Project && a.Claim.Equal(b.Claim) && a.RetainedUntil.Equal(b.RetainedUntil) &&
		equalMatches(&a.Match, &b.Match) && equalOptions(&a.Options, &b.Options) &&
		equalPointers(a.FailClosed, b.FailClosed) &&
		slices.EqualFunc(a.Backends, b.Backends, func(x, y route.Backend) bool { return equalBackends(&x, &y) }) &&
		slices.EqualFunc(a.Absent, b.Absent, equalAbsences) &&
		slices.Equal(a.Diagnostics, b.Diagnostics) && slices.Equal(a.Labels, b.Labels)
}

func equalMatches(a, b *route.Match) bool {
	return slices.Equal(a.Hosts, b.Hosts) && a.Path == b.Path && slices.Equal(a.Methods, b.Methods) &&
		slices.Equal(a.Headers, b.Headers) && slices.Equal(a.Query, b.Query) &&
		slices.Equal(a.ClientIPs, b.ClientIPs) && a.ClientNobody == b.ClientNobody && a.Priority == b.Priority
}

func equalOptions(a, b *route.Options) bool {
	return a.StripPrefix == b.StripPrefix && a.AddPrefix == b.AddPrefix && slices.Equal(a.Headers, b.Headers) &&
		a.LoadBalancer == b.LoadBalancer && a.BackendTimeout == b.BackendTimeout &&
		a.RetryAttempts == b.RetryAttempts && a.Panic == b.Panic && a.DrainTimeout == b.DrainTimeout &&
		a.HoldFor == b.HoldFor && a.Retry == b.Retry && a.PanicThreshold == b.PanicThreshold &&
		a.NoBackendStatus == b.NoBackendStatus && a.OnDown == b.OnDown && a.Passive == b.Passive &&
		a.Breaker == b.Breaker && a.Sticky == b.Sticky && a.Queue == b.Queue
}

func equalBackends(a, b *route.Backend) bool {
	return a.ID == b.ID && a.Name == b.Name && equalContainers(a.Container, b.Container) &&
		a.Incarnation == b.Incarnation && a.Host == b.Host && a.Port == b.Port && a.Scheme == b.Scheme &&
		a.TLS == b.TLS && a.DialTimeout == b.DialTimeout && a.Weight == b.Weight && a.Docker == b.Docker &&
		a.MaxConnections == b.MaxConnections && a.SlowStart == b.SlowStart && a.SlowStartMin == b.SlowStartMin &&
		a.Provider == b.Provider && a.StartedAt.Equal(b.StartedAt) && a.Loopback == b.Loopback &&
		equalChecks(a.Check, b.Check)
}

func equalContainers(a, b *route.Container) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Name == b.Name && a.Image == b.Image && a.Health == b.Health &&
		a.CreatedAt.Equal(b.CreatedAt) && a.StartedAt.Equal(b.StartedAt)
}

func equalChecks(a, b *route.Check) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Type == b.Type && a.Scheme == b.Scheme && a.Port == b.Port && a.Path == b.Path && a.Host == b.Host &&
		a.SNI == b.SNI && a.Method == b.Method && slices.Equal(a.Headers, b.Headers) && a.Status == b.Status &&
		a.TLS == b.TLS && a.Interval == b.Interval && a.FastInterval == b.FastInterval &&
		a.DownInterval == b.DownInterval && a.Timeout == b.Timeout && a.Jitter == b.Jitter &&
		a.InitialDelay == b.InitialDelay && a.UnhealthyThreshold == b.UnhealthyThreshold &&
		a.HealthyThreshold == b.HealthyThreshold && a.Initial == b.Initial &&
		a.FollowRedirects == b.FollowRedirects && a.BodyContains == b.BodyContains && a.BodyRegex == b.BodyRegex &&
		a.GRPCService == b.GRPCService
}

func equalAbsences(a, b route.Absence) bool {
	return a.CandidateID == b.CandidateID && a.Name == b.Name && a.Why == b.Why && a.Detail == b.Detail && a.Until.Equal(b.Until)
}

func equalPointers[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
