package compose

import (
	"os"
	"strings"

	"github.com/compose-spec/compose-go/v2/template"
	"github.com/goccy/go-yaml"
)

// labelVariables names the variables without a default in the labels of a project's
// files. Those of other keys are none of our business: a password that only the host
// knows must not make a check of labels fail.
func labelVariables(files []string) map[string]bool {
	names := map[string]bool{}
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
			for name, v := range template.ExtractVariables(map[string]any{"labels": s.Labels}, nil) {
				if v.DefaultValue == "" && v.PresenceValue == "" && !hasDefault(string(text), name) {
					names[name] = true
				}
			}
		}
	}
	return names
}

// hasDefault finds a default that is written and empty, which is one, too.
func hasDefault(text, name string) bool {
	return strings.Contains(text, "${"+name+"-") || strings.Contains(text, "${"+name+":-")
}
