package cli

import (
	"strings"

	"fairlead/cmd/internal/config"
)

// optional is a flag of which an empty value says something else than none.
type optional struct {
	value string
	given bool
}

// Set implements pflag.Value.
func (o *optional) Set(value string) error {
	o.value, o.given = value, true
	return nil
}

// String implements pflag.Value.
func (o *optional) String() string { return o.value }

// Type implements pflag.Value.
func (*optional) Type() string { return "string" }

// dockerEndpoint is the setting that --docker is short for.
const dockerEndpoint = "providers.docker.endpoint"

// dockerSetting is what --docker says: an address, or with "" that no engine is read, as
// with the flags of the listeners.
func dockerSetting(value string) (setting string, flag config.Flag) {
	if strings.TrimSpace(value) == "" {
		return "providers.docker.enabled", config.Flag{Name: `--docker ""`, Value: "false"}
	}
	return dockerEndpoint, config.Flag{Name: "--docker", Value: value}
}
