// Package e2e holds the end-to-end tests: the built binary in front of real containers.
//
// They need a Docker engine. Without one they are skipped and say so, unless
// FAIRLEAD_REQUIRE_DOCKER=1 is set, as CI does: then a missing engine is a failure.
// Those of Podman need Podman as well, and FAIRLEAD_REQUIRE_PODMAN=1 says that it is there.
// Every container, network and image that a test makes carries the label
// fairlead-e2e and is removed at its end.
//
// The tests of outages (TestOutage...) stop and kill an engine of their own, which runs
// in a network namespace without a way out. That takes Linux, root, and the programs ip,
// nsenter and dockerd; the same rule decides between a skip and a failure.
package e2e
