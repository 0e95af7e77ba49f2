// Package router decides where a request goes: the immutable Table with its total
// order, the canonical forms of hosts and paths that it is asked with, the pick of
// a backend from a rotation, the Controller that is the table's only writer, and
// the View and Resolve that explain all of it.
//
// Match and Pick are on the request path: they neither allocate nor lock.
package router
