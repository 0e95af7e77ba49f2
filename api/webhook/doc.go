// Package webhook tells a receiver of every transition of health that is worth a notice:
// a POST with a body in JSON, signed, tried again with pauses that grow, from a bounded
// queue. Nothing here ever blocks the health engine.
package webhook
