// Package api is the JSON contract of the admin listener: the types of the answers,
// their mapping from a router.View, the handlers and the guards in front of them.
// It only reads: nothing here changes a route or contacts a backend.
//
// Times are epoch seconds, durations end in _ms, names are snake_case, and what is
// not known is null. Header values, query values and credentials are in no answer.
package api
