package compose

import (
	"fmt"
	"os"
	"strings"

	"github.com/compose-spec/compose-go/v2/template"
	"github.com/goccy/go-yaml"

	"fairlead/router/route"
)

// variable is one without a default that a label uses.
type variable struct {
	label  string
	braced bool // written as ${NAME}; else it may be a piece of a password with a $ in it
}

// labelVariables finds the variables without a default in the labels of a project's
// files. Those of other keys are none of our business: a password that only the host
// knows must not make a check of labels fail.
func labelVariables(files []string) map[string]variable {
	found := map[string]variable{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // compose has said so
		}
		var top struct {
			Services map[string]struct {
				Labels any `yaml:"labels"`
			} `yaml:"services"`
		}
		if yaml.Unmarshal(text, &top) != nil {
			continue
		}
		for _, s := range top.Services {
			for key, value := range labelsOf(s.Labels) {
				for name, v := range template.ExtractVariables(map[string]any{"label": value}, nil) {
					if v.DefaultValue == "" && v.PresenceValue == "" && !hasDefault(string(text), name) {
						found[name] = variable{key, strings.Contains(value, "${"+name)}
					}
				}
			}
		}
	}
	return found
}

// labelsOf returns the labels of a service from either of the forms that compose knows.
func labelsOf(labels any) map[string]string {
	all := map[string]string{}
	switch labels := labels.(type) {
	case map[string]any:
		for key, value := range labels {
			all[key] = fmt.Sprint(value)
		}
	case []any:
		for _, one := range labels {
			key, value, _ := strings.Cut(fmt.Sprint(one), "=")
			all[key] = value
		}
	}
	return all
}

// unset tells of a variable that nobody set. The name of one that is not written as
// ${NAME} is not shown: in a password hash it is the secret itself.
func unset(name string, v variable) route.Diagnostic {
	if !v.braced {
		d := route.Diagnose("W133", "write $$ for each $ of the value, or ${NAME} where a variable is meant",
			"the value has a $ that compose takes for the beginning of a variable, which is not set: it puts nothing in its place")
		d.Label = v.label
		return d
	}
	return route.Diagnose("W133", "set "+name+" in the environment or in .env, or give a default: ${"+name+":-value}",
		"the variable %s is not set: compose puts nothing in its place", name)
}

// hasDefault finds a default that is written and empty, which is one, too.
func hasDefault(text, name string) bool {
	return strings.Contains(text, "${"+name+"-") || strings.Contains(text, "${"+name+":-")
}
