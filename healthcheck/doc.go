// Package healthcheck knows which backends can serve and says why.
//
// Two layers speak about a backend here: the active one (probes) and the provider
// (Docker's word). No layer writes the other's state; the rotation is computed from
// both by one pure function and published through the entrypoint's RotationCell.
//
// The reducers (active.go, rotation.go, summary.go) have neither clock nor
// goroutine. The Engine owns everything else behind one mutex that is never held
// while probing, dialling, logging or calling out. Probers own their connections,
// one file per kind.
package healthcheck
