// Package docker watches a Docker engine (or one that speaks its API, such as
// Podman) and turns its containers into snapshots of entrypoints.
//
// Events are hints, lists are truth: an event only marks a container, which is then
// inspected; every reconnect and a slow resync read everything again. A list that
// fails is never read as "no containers", and an engine that is away leaves the
// last entrypoints in place. Only GET endpoints are used: /_ping, /version,
// /events, /containers/json, /containers/{id}/json and, when allowed, /networks and
// /networks/{id}.
package docker
