// Package route is Fairlead's vocabulary: every value that crosses a package border.
//
// It is pure: no I/O, no clock, no logging, the standard library only. Values are
// plain data and immutable once published; whoever receives one must not change it.
// The few long-lived objects (Load, RotationCell) say so and are safe for
// concurrent use.
package route
