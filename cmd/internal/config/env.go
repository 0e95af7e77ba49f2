package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// environment makes a map of NAME=value texts; the last one counts.
func environment(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, item := range list {
		if name, value, ok := strings.Cut(item, "="); ok {
			env[name] = value
		}
	}
	return env
}

// otherVariables are ours without being settings of the router.
func otherVariables() []string {
	return []string{"FAIRLEAD_ADMIN", "FAIRLEAD_USER", "FAIRLEAD_PASSWORD", "FAIRLEAD_CONTAINER_ID"}
}

// readEnv brings FAIRLEAD_* variables into force.
func (r *reader) readEnv(env map[string]string) {
	byName := map[string]string{}
	for _, path := range r.paths {
		byName[r.index[path].env()] = path
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(otherVariables(), name) {
			continue
		}
		if path, ok := byName[name]; ok {
			r.setFrom(name, path, env[name])
			continue
		}
		r.unknownVariable(name, slices.Sorted(maps.Keys(byName)))
	}
}

// unknownVariable refuses what is nearly a setting, and what a later version has: an
// ignored protection is worse than no start. Other variables belong to someone else,
// a compose file for example, and are only mentioned.
func (r *reader) unknownVariable(name string, known []string) {
	for path, fix := range later() {
		variable := leaf{path: path}.env()
		if name == variable || strings.HasPrefix(name, variable+"_") {
			r.problems = append(r.problems, Problem{Where: name, Message: path + " is not in this version", Fix: fix})
			return
		}
	}
	bare := func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "_", "")) }
	best, bestDistance := "", 3
	for _, k := range known {
		if d := distance(bare(name), bare(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best != "" {
		r.problems = append(r.problems, Problem{Where: name, Message: "not a setting", Fix: "did you mean " + best + "?"})
		return
	}
	r.warnings = append(r.warnings, fmt.Sprintf("%s is not a setting of this version; it has no effect", name))
}

// dockerEnv fills in Docker's own variables where nothing else was said.
func (r *reader) dockerEnv(env map[string]string) {
	for _, v := range []struct{ path, variable string }{
		{"providers.docker.endpoint", "DOCKER_HOST"},
		{"providers.docker.certPath", "DOCKER_CERT_PATH"},
	} {
		if r.origins[v.path] == "" && env[v.variable] != "" {
			r.setFrom(v.variable, v.path, env[v.variable])
		}
	}
	if r.origins["providers.docker.tlsVerify"] == "" && env["DOCKER_TLS_VERIFY"] != "" {
		r.setFrom("DOCKER_TLS_VERIFY", "providers.docker.tlsVerify", "true")
	}
}
