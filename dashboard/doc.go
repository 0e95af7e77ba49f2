// Package dashboard shows a router.View to people: what is broken, since when, why, and
// what to do. Every page is a pure function of the view, the traffic and the clock,
// rendered on the server from embedded templates; it works without scripts, and a small
// script keeps it current.
//
// Secrets never reach a template: pages are made of the api package's redacted shapes.
package dashboard
