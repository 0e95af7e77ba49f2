package route

// Redacted is what stands in place of a secret in every output.
const Redacted = "***"

// Secret is a value that must never leave the process: it renders as Redacted in
// fmt, JSON, YAML and text encoders. Reveal is for the one place that uses it.
type Secret string

// String implements fmt.Stringer.
func (Secret) String() string { return Redacted }

// GoString keeps %#v from printing the value.
func (Secret) GoString() string { return Redacted }

// MarshalText keeps text-based encoders from printing the value.
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON keeps encoding/json from printing the value.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// Reveal returns the value itself. Never log, format or store what it returns.
func (s Secret) Reveal() string { return string(s) }
