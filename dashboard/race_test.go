//go:build race

package dashboard

// raced is set where the race detector slows everything down.
const raced = true
