// Package accesslog writes one line of JSON for each request of the data plane, to a
// file that it rotates or to a stream.
//
// A request formats its line and leaves it in a bounded buffer; one goroutine writes
// the buffer out in blocks, at most ten times a second. When the writer cannot keep up
// lines are dropped and counted: no request waits for a disk.
//
// A line holds no header value but a bounded User-Agent, never a user or a password
// of a URL, and query values only where the operator asks for them.
package accesslog
