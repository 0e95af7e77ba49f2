package compose

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// shape is one kind of error: text is what is told of it, with the parts of the error that
// are places or names ($1, $2). An error never shows a value: any of them may be a secret.
type shape struct {
	error *regexp.Regexp
	text  string
}

func shapeOf(pattern, text string) shape { return shape{regexp.MustCompile(pattern), text} }

// place and name match what stands on the left of values: keys, files, and the names by
// which parts of a file refer to each other.
const (
	place = `([\w.\-\[\]@:/~+*]+)`
	name  = `"([^"]{1,100})"`
)

// shapes are tried in order. What none of them fits is told without its words.
var shapes = []shape{
	// Interpolation.
	shapeOf(`^error while interpolating `+place+`: required variable (\w+) is missing a value`, "$1: the variable $2 must be set, and is not"),
	shapeOf(`^error while interpolating `+place+`: .*strconv\.(?:Atoi|ParseInt|ParseUint)`, "$1: not a whole number"),
	shapeOf(`^error while interpolating `+place+`: .*strconv\.ParseFloat`, "$1: not a number"),
	shapeOf(`^error while interpolating `+place+`: .*invalid boolean`, "$1: neither true nor false"),
	shapeOf(`^error while interpolating `+place+`: `, "$1: the value cannot be used"),
	shapeOf(`^invalid interpolation format for `+place+`\.`, "$1: a $$ begins no variable that compose knows; write $$$$ for a $$ that is meant"),
	// Files of variables and labels.
	shapeOf(`^failed to read (\S.*?): line (\d+): unexpected character`, "$1: line $2: not a name of a variable"),
	shapeOf(`^failed to read (\S.*?): line (\d+): key cannot contain a space`, "$1: line $2: a space in the name of a variable"),
	shapeOf(`^failed to read (\S.*?): line (\d+): unterminated quoted value`, "$1: line $2: a quote, here or above, is not closed"),
	shapeOf(`^failed to read (\S.*?): line (\d+): `, "$1: line $2: not NAME=value"),
	shapeOf(`^failed to read (\S.*?): (?:required variable (\w+) is missing)`, "$1: the variable $2 must be set, and is not"),
	shapeOf(`^failed to read (\S.*?): `, "$1: a value has a $$ that begins no variable; write $$$$ for a $$ that is meant"),
	shapeOf(`^(?:couldn't find|couldn't read) env file: (.+)$`, "$1 cannot be read"),
	shapeOf(`^((?:label|env) file .+ not found)`, "$1"),
	shapeOf(`^(?:stat|open|read|lstat) (.+): (no such file or directory|is a directory|permission denied|not a directory)$`, "$1: $2"),
	shapeOf(`^(.+) is (?:a directory|not a file)$`, "$1 is no file"),
	// YAML.
	shapeOf(`line (\d+): mapping key "([^"]{1,100})" already defined at line (\d+)`, "line $1: the key $2 stands on line $3 already"),
	shapeOf(`yaml: .*?line (\d+)(?:, column (\d+))?: unknown anchor`, "line $1: an alias (*) of an anchor (&) that is nowhere above"),
	shapeOf(`yaml: .*?(line \d+(?:, column \d+)?: (?:line \d+(?:, column \d+)?: )?[a-z ,\-]{1,100})`, "not YAML: $1"),
	shapeOf(`yaml: (while [a-z ]{1,60} at line \d+(?:, column \d+)?: [a-z ,\-]{1,100})`, "not YAML: $1"),
	shapeOf(`yaml: .*?line (\d+)`, "line $1: not YAML, or not of the type that compose expects"),
	// The schema.
	shapeOf(`^validating .+?: `+place+`\.([^.\s]+) false schema$`, "$1: unknown key $2"),
	shapeOf(`^validating .+?: (\S+) false schema$`, "unknown key $1"),
	shapeOf(`^validating .+?: (\S*) ?additional properties '([^']{1,100})' not allowed`, "$1: unknown key $2"),
	shapeOf(`^validating .+?: (\S*) ?additional properties `, "$1: unknown keys"),
	shapeOf(`^validating .+?: (\S+ (?:must be (?:a |an )?[a-z, ]{1,80}|must be (?:greater|less) than or equal to -?[\d.]+))$`, "$1"),
	shapeOf(`^validating .+?: (\S+) missing propert(?:y|ies) ('[\w', ]{1,100})$`, "$1: lacks $2"),
	shapeOf(`^validating .+?: (\S+) (value must be (?:one of )?'[\w', \-]{1,100}')$`, "$1: the $2"),
	shapeOf(`^validating .+?: (\S+) .* is not valid (duration|uri|email|date|uuid)\b`, "$1: not a valid $2"),
	shapeOf(`^validating .+?: (\S+) .*does not match pattern '([^']{1,100})'$`, "$1: the value does not match $2"),
	shapeOf(`^validating .+?: (\S+) items at \d+ and \d+ are equal`, "$1: an entry stands in it twice"),
	shapeOf(`^validating .+?: `+place+` `, "$1: not what compose expects there"),
	// Values of their own kinds.
	shapeOf(`^(\S*labels\.?\[\d+\]): unexpected type map`, "$1: the label is written \"name: value\" where \"name=value\" is needed"),
	shapeOf(`'([\w.\-\[\]]*(?:mem_\w+|memory|memswap_limit|size))' `, "$1: not a size such as 512m"),
	shapeOf(`'`+place+`' time: (?:invalid|unknown|missing)`, "$1: not a duration such as 1m30s"),
	shapeOf(`'`+place+`' invalid additional host`, "$1: not host:address"),
	shapeOf(`'`+place+`' (?:bad host name)`, "$1: not a host name"),
	shapeOf(`'`+place+`' expected type '(\w+)'`, "$1: not of the type $2"),
	shapeOf(`'`+place+`' unexpected value type \S+ for ([\w.]+)`, "$1: not of the type that $2 has"),
	shapeOf(`'`+place+`' `, "$1: the value cannot be used"),
	shapeOf(`^invalid hostPort`, "ports: the port on the host is no number, and no range of them"),
	shapeOf(`^(?:invalid containerPort|no port specified|invalid port|invalid start port|invalid end port)`, "ports: the port of the container is no number, and no range of them"),
	shapeOf(`^invalid proto`, "ports: the protocol is none of tcp, udp and sctp"),
	shapeOf(`^invalid (?:IP address|ip address)`, "ports: the address is no IP address"),
	shapeOf(`^invalid ranges specified for container and host ports`, "ports: the range on the host is not as long as the container's"),
	shapeOf(`^invalid (?:empty volume )?spec.*: (too many colons|empty section between colons)$`, "volumes: $1"),
	shapeOf(`^invalid (?:empty volume )?spec`, "volumes: not source:target:options"),
	shapeOf(`^confusing device mapping`, "devices: not host:container:permissions; use the long form"),
	shapeOf(`^service (?:volume|device) `+place+` is missing a mount target`, "$1: lacks a target"),
	shapeOf(`^service ports .* is missing a target port`, "ports: an entry lacks the container's port"),
	shapeOf(`^healthcheck\.test must start either by`, `healthcheck.test must begin with CMD, CMD-SHELL or NONE`),
	shapeOf(`^invalid project name `, "the project name must be of lower-case letters, digits, - and _, with a letter or digit first"),
	shapeOf("^`include` must be a list", "include must be a list"),
	// Names that do not fit together.
	shapeOf(`^(service `+name+` has neither an image nor a build context specified)`, "$1"),
	shapeOf(`^(service `+name+` depends on undefined service "[\w.\-]{1,100}")`, "$1"),
	shapeOf(`^(service `+name+` refers to undefined (?:network|secret|config|model|build secret) [\w.\-]{1,100}):`, "$1"),
	shapeOf(`^(service `+name+` refers to undefined volume)`, "$1"),
	shapeOf(`^(service `+place+` declares mutually exclusive .network_mode. and .networks.)`, "service $2 has both network_mode and networks"),
	shapeOf(`^(services\.[\w.\-]+): can't set container_name and`, "$1: container_name stands beside several replicas, and a name is unique"),
	shapeOf(`^(services\.[\w.\-]+): container name .* is already in use by service "?([\w.\-]+)`, "$1: its container_name is that of service $2"),
	shapeOf(`^(services\.[\w.\-]+: can't set distinct values on '[\w.]+' and '[\w.]+')`, "$1"),
	shapeOf(`^(cannot extend service `+name+` in .+?: service "[\w.\-]{1,100}" not found)`, "$1"),
	shapeOf(`^((?:Circular reference|include cycle detected): .+)$`, "$1"),
	shapeOf(`^(empty compose file|top-level object must be a mapping|project name must not be empty|non-string key [a-z ]+)`, "$1"),
	shapeOf(`^(dependency cycle detected): `, "$1"),
	shapeOf(`^((?:services|volumes|networks|secrets|configs)\.[\w.\-]+ must be a mapping)`, "$1"),
	// Anything else that begins with its place.
	shapeOf(`^((?:services|jobs|volumes|networks|secrets|configs|models|include|name)[.\[][\w.\-\[\]]+):? `, "$1: the value cannot be used"),
}

// keyed is how the decoder writes the key of a mapping.
var keyed = regexp.MustCompile(`\[([a-zA-Z_][\w.\-]*)\]`)

// redacted makes one line of an error's text, and not a long one, without values.
func redacted(err error) error {
	var told []string
	for _, one := range flat(err) {
		if text := tell(one); !slices.Contains(told, text) {
			told = append(told, text)
		}
	}
	const most = 5
	if len(told) > most {
		told = append(told[:most], "and more")
	}
	return errors.New(strings.Join(told, "; "))
}

// flat lists the errors that were joined to one.
func flat(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var list []error
	for _, one := range joined.Unwrap() {
		list = append(list, flat(one)...)
	}
	return list
}

func tell(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, s := range shapes {
		if at := s.error.FindStringSubmatchIndex(text); at != nil {
			out := strings.TrimPrefix(string(s.error.ExpandString(nil, s.text, text, at)), ": ")
			out = keyed.ReplaceAllString(out, ".$1")
			if len(out) > 300 {
				out = out[:300] + "..."
			}
			return out
		}
	}
	return "compose cannot use a value in it: `docker compose config` tells which one"
}
