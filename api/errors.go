package api

import (
	"fmt"
	"net/http"
)

// Codes of errors in answers.
const (
	CodeNotFound         = "not_found"
	CodeMethodNotAllowed = "method_not_allowed"
	CodeForbidden        = "forbidden"
	CodeBadHost          = "host_not_allowed"
	CodeCrossOrigin      = "cross_origin"
	CodeBadParameter     = "bad_parameter"
	CodeInternal         = "internal"
	CodeUnauthorized     = "unauthorized"
	CodeUpgradeRequired  = "upgrade_required"
	CodeTooMany          = "too_many"
	CodeUnsupportedMedia = "unsupported_media_type"
	CodeInvalid          = "invalid_value"
	CodeTimeout          = "timeout"
)

// Error is the body of every answer that is not a success. As an error it carries
// the status it is sent with.
type Error struct {
	// Message is for people.
	Message string `json:"error"`
	// Code is for programs: one of the Code constants.
	Code string `json:"code"`
	// Field names the parameter that is wrong, "" when it is none.
	Field string `json:"field,omitempty"`

	status int
	header http.Header // of the answer, such as Allow
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

func notFound(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Code: CodeNotFound, status: http.StatusNotFound}
}

func forbidden(code, format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Code: code, status: http.StatusForbidden}
}

func badParameter(field, format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Code: CodeBadParameter, Field: field, status: http.StatusBadRequest}
}
