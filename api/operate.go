package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fairlead/router/route"
)

// Operator carries out orders about backends. Its methods are safe for concurrent use;
// refusals are *route.OrderError.
type Operator interface {
	// Order is in force when it returns: the rotation is published.
	Order(entrypoint, backend string, o route.Order) error
	// ProbeNow runs a backend's check and returns what it saw. Without count the result
	// changes nothing.
	ProbeNow(ctx context.Context, entrypoint, backend string, count bool) (route.ProbeReport, error)
}

// OrderBody is the body of an order. Every field may be left out, and so may the body.
type OrderBody struct {
	// Reason is shown wherever the state is: up to 200 characters.
	Reason string `json:"reason,omitempty"`
	// For is a Go duration from 1s to 8760h after which the backend is ready again by
	// itself, or as long as an ejection lasts; "" is until another order.
	For string `json:"for,omitempty"`
	// Scope is backend ("", the default: until its container or address is gone) or
	// service: every backend of the entrypoint, later ones included.
	Scope string `json:"scope,omitempty"`
	// Force carries out what leaves the entrypoint without a backend that may serve.
	Force bool `json:"force,omitempty"`
}

// ProbeBody is the body of an order to probe now.
type ProbeBody struct {
	// Count applies the result as that of any other probe; otherwise nothing changes.
	Count bool `json:"count,omitempty"`
}

// Limits of orders.
const (
	maxOrderBody   = 8 << 10 // bytes
	maxOrderReason = 200     // characters
	minOrderFor    = time.Second
	maxOrderFor    = 8760 * time.Hour
)

// orderEndpoints are those that change what an operator says of a backend.
func (s *Server) orderEndpoints() []endpoint {
	const path = "/entrypoints/{id}/backends/{bid}/"
	list := []endpoint{{
		path: path + "probe", does: "POST runs its check now and says what it saw; a dry run unless count; role admin",
		need: RoleAdmin, post: s.probeNow,
	}}
	for _, o := range []struct {
		action route.OrderAction
		does   string
	}{
		{route.OrderDrain, "POST lets what is in flight end and sends nothing new; bound clients move after drain.timeout; role admin"},
		{route.OrderMaintenance, "POST sends nothing new, closes idle connections and stops its probes; role admin"},
		{route.OrderReady, "POST ends a drain or a maintenance; role admin"},
		{route.OrderEject, "POST ejects it as failing traffic would; role admin"},
		{route.OrderUneject, "POST ends an ejection; role admin"},
	} {
		list = append(list, endpoint{
			path: path + string(o.action), does: o.does, need: RoleAdmin,
			post: func(w http.ResponseWriter, r *http.Request) *Error { return s.order(w, r, o.action) },
		})
	}
	return list
}

// order answers an order about a backend with its health after it.
func (s *Server) order(w http.ResponseWriter, r *http.Request, action route.OrderAction) *Error {
	var body OrderBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	o, err := body.order(action)
	if err != nil {
		return err
	}
	if _, err := s.findBackend(r); err != nil {
		return err
	}
	if s.cfg.Operator == nil {
		return noOperator()
	}
	o.Actor = callerOf(r).name
	if err := s.cfg.Operator.Order(r.PathValue("id"), r.PathValue("bid"), o); err != nil {
		return orderRefused(err)
	}
	b, err := s.findBackend(r)
	if err != nil {
		return err // it left meanwhile
	}
	s.send(w, r, reply{body: b})
	return nil
}

func noOperator() *Error {
	return &Error{Message: "this router takes no orders", Code: string(route.OrderImpossible), status: http.StatusConflict}
}

// readBody reads a JSON object; an empty body is an empty object.
func readBody(w http.ResponseWriter, r *http.Request, into any) *Error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return &Error{
			Message: "send application/json (a body may be left out, the Content-Type may not)", Code: CodeUnsupportedMedia,
			status: http.StatusUnsupportedMediaType,
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxOrderBody)
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return badParameter(wrong.Field, "%s is to be a %s, not a %s", quoted(wrong.Field), wrong.Type.Kind(), wrong.Value)
	}
	if err == nil && decoder.More() {
		err = errors.New("more than one value")
	}
	if err != nil {
		return badParameter(unknownField(err), "the body is not a JSON object of known fields, or too long: %s", quoted(err.Error()))
	}
	return nil
}

// unknownField is the name that encoding/json does not know, "" when that is not what is
// wrong.
func unknownField(err error) string {
	_, name, found := strings.Cut(err.Error(), "unknown field ")
	if !found {
		return ""
	}
	return strings.Trim(name, `"`)
}

// order checks the fields.
func (b *OrderBody) order(action route.OrderAction) (route.Order, *Error) {
	o := route.Order{Action: action, Reason: b.Reason, Force: b.Force, Scope: route.ScopeBackend}
	if utf8.RuneCountInString(b.Reason) > maxOrderReason || strings.ContainsFunc(b.Reason, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return o, invalid("reason", "a reason is one line of at most %d characters that print", maxOrderReason)
	}
	switch b.Scope {
	case "", string(route.ScopeBackend):
	case string(route.ScopeService):
		o.Scope = route.ScopeService
	default:
		return o, invalid("scope", "the scope is backend or service, not %s", quoted(b.Scope))
	}
	if b.For == "" {
		return o, nil
	}
	d, err := time.ParseDuration(b.For)
	switch {
	case action == route.OrderReady, action == route.OrderUneject:
		return o, invalid("for", "%s does not end by itself: leave the duration out", action)
	case err != nil, d < minOrderFor, d > maxOrderFor:
		return o, invalid("for", "for is a duration from 1s to 8760h such as 30m, not %s", quoted(b.For))
	}
	o.For = d
	return o, nil
}

func invalid(field, format string, args ...any) *Error {
	err := badParameter(field, format, args...)
	err.Code, err.status = CodeInvalid, http.StatusUnprocessableEntity
	return err
}

// orderRefused makes an answer of what an Operator says.
func orderRefused(err error) *Error {
	refusal, ok := errors.AsType[*route.OrderError](err)
	if !ok {
		return &Error{Message: err.Error(), Code: CodeTimeout, status: http.StatusGatewayTimeout}
	}
	out := &Error{Message: refusal.Message, Code: string(refusal.Code), status: http.StatusConflict}
	switch refusal.Code {
	case route.OrderUnknown:
		out.status = http.StatusNotFound
	case route.OrderTooOften:
		out.status, out.header = http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}}
	case route.OrderWouldEmpty:
		out.Field = "force"
	case route.OrderImpossible:
	}
	return out
}
