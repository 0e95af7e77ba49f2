package route

import "time"

// AdminState is the operator's word about a backend.
type AdminState string

// Operator states (health.md, "Admin, provider, load, warm-up layers").
const (
	AdminReady       AdminState = "ready"
	AdminDrain       AdminState = "drain"
	AdminMaintenance AdminState = "maintenance"
)

// Admin is the operator layer of one backend. The zero value is not valid: State is
// AdminReady where nobody said anything.
type Admin struct {
	State  AdminState
	Actor  string // who said so; "" for nobody
	Reason string
	Since  time.Time // zero while ready from the beginning
	// ExpiresAt is when the backend is ready again by itself; zero for never.
	ExpiresAt time.Time
	Scope     OrderScope
}

// OrderScope says what an order is bound to.
type OrderScope string

// Scopes of orders.
const (
	// ScopeBackend binds to this start of the container, or this static address.
	ScopeBackend OrderScope = "backend"
	// ScopeService binds to the entrypoint: every backend, later ones included.
	ScopeService OrderScope = "service"
)

// OrderAction is what an operator asks for.
type OrderAction string

// Orders.
const (
	OrderDrain       OrderAction = "drain"
	OrderMaintenance OrderAction = "maintenance"
	OrderReady       OrderAction = "ready"
	OrderEject       OrderAction = "eject"
	OrderUneject     OrderAction = "uneject"
)

// Order is one word of an operator about one backend, or all of an entrypoint.
type Order struct {
	Action OrderAction
	Actor  string
	Reason string
	For    time.Duration // 0: until another order
	Scope  OrderScope
	// Force permits an order that leaves the entrypoint with nothing to serve.
	Force bool
}

// StandingOrder is an order that is in force, in a form that survives a restart of the
// router. It is about one start of a container (Container and StartedAt), about a static
// address (Address), or about every backend of the entrypoint (none of them). Its state
// is AdminReady only for a backend that is exempt from an order about all.
type StandingOrder struct {
	Entrypoint string // its id, for people
	Identity   string // its Key, which the order is bound to; "" is the id
	Container  string // full id
	StartedAt  time.Time
	Address    string // host:port
	Admin      Admin
}

// OrderError is an order that was not carried out.
type OrderError struct {
	Code    OrderErrorCode
	Message string // what, why, and what to do
}

// Error implements error.
func (e *OrderError) Error() string { return e.Message }

// OrderErrorCode says why an order was not carried out.
type OrderErrorCode string

// Why orders are refused.
const (
	OrderUnknown    OrderErrorCode = "not_found"    // no such entrypoint or backend
	OrderWouldEmpty OrderErrorCode = "would_empty"  // nothing would be left; Force carries it out
	OrderImpossible OrderErrorCode = "conflict"     // nothing to eject, not probed, leaving
	OrderTooOften   OrderErrorCode = "rate_limited" // at most one probe a second per backend
)

// ProbeReport is a probe that an operator asked for.
type ProbeReport struct {
	Address string
	Check   CheckView
	Result  ProbeResult
	// Counted is set when the result was applied as any other; a dry run is not.
	Counted bool
	// Exchange is what went over the wire, without any value.
	Exchange ProbeExchange
	Hint     string
}

// ProbeExchange is what a probe sent and got, as far as it speaks HTTP. Header values
// are never in it, nor query values.
type ProbeExchange struct {
	RequestLine     string
	RequestHeaders  []string // names
	StatusLine      string
	ResponseHeaders []string // names
	BodyBytes       int64
	Certificate     *ProbeCertificate // of the backend, nil without TLS
}

// ProbeCertificate is the certificate that a backend showed.
type ProbeCertificate struct {
	Subject, Issuer     string
	Names               []string
	NotBefore, NotAfter time.Time
	Protocol            string // negotiated by ALPN
	Version             string // TLS 1.3
}
