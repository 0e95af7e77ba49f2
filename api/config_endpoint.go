package api

import "net/http"

// Configuration is the answer of GET /config: what the router runs on.
type Configuration struct {
	// File is the configuration file that was read, null without one.
	File     *string   `json:"file"`
	Settings []Setting `json:"settings"`
}

// Where a setting came from.
const (
	FromDefault     = "default"
	FromFile        = "file"
	FromEnvironment = "environment"
	FromFlag        = "flag"
)

// Setting is one setting in force. Secrets are not in it: users are shown without their
// hashes, addresses without a user in them.
type Setting struct {
	// Key is the path in the file, such as admin.listen.
	Key string `json:"key"`
	// Value is a truth value, a number, a text, a list, or a table of texts; durations
	// are texts such as "10s".
	Value any `json:"value"`
	// Source is default, file, environment or flag.
	Source string `json:"source"`
	// Where is the place in the file, the variable or the flag; null for a default.
	Where *string `json:"where"`
}

// ConfiguredUser is a user in a Setting.
type ConfiguredUser struct {
	Name         string `json:"name"`
	Role         Role   `json:"role"`
	PasswordHash string `json:"password_hash"` // always ***
}

// configuration answers GET /config.
func (s *Server) configuration(*http.Request) (reply, *Error) {
	return reply{body: Configuration{File: known(s.cfg.File), Settings: list(s.cfg.Settings)}}, nil
}
