package client

import "fmt"

// UnreachableError says that no answer came: nobody listens, the name is unknown, or
// the connection broke. It never holds a query or credentials.
type UnreachableError struct {
	URL string // of the admin listener
	Err error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no router answers at %s: %v (is it running? --admin or FAIRLEAD_ADMIN names another address)", e.URL, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// StatusError is an answer that is not a success.
type StatusError struct {
	URL    string // of the admin listener
	Status int
	// Message is for people; Code and Field are "" when the answer had none.
	Message string
	Code    string
	Field   string
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered %d: %s", e.URL, e.Status, e.Message)
}
