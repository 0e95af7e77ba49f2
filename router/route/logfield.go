package route

// Field names of log lines, in one place (json.md, "Log fields").
const (
	FieldEntrypoint = "route"
	FieldBackend    = "backend"
	FieldAddress    = "address"
	FieldContainer  = "container"
	FieldFrom       = "from"
	FieldTo         = "to"
	FieldCause      = "cause"
	FieldKind       = "kind"
	FieldMessage    = "message"
	FieldFail       = "consecutive_fail"
	FieldOK         = "consecutive_ok"
	FieldThreshold  = "threshold"
	FieldInRotation = "in_rotation"
	FieldRev        = "rev"
	FieldProvider   = "provider"
	FieldCode       = "code"
	FieldLabel      = "label"
	FieldHint       = "hint"
	FieldGeneration = "generation"
	FieldReason     = "reason"
	FieldActor      = "actor"
)
