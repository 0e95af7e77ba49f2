package compose

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	interp "github.com/compose-spec/compose-go/v2/interpolation"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/tree"
	"github.com/compose-spec/compose-go/v2/types"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// variables are those without a value or default in the labels of a project, wherever
// they are written: a file, one that it includes or extends, a label file. Those of other
// keys are none of our business: a password that only the host knows must not make a
// check of labels fail.
type variables struct {
	last []use // of the text that was put together last, a label's or not
	uses []use // of labels
}

// use is one place where nothing comes in place of a variable.
type use struct {
	name   string
	braced bool   // written as ${NAME}; else it may be a piece of a password with a $ in it
	text   string // what became of the text around it
}

// watch sees each text that compose puts values in, in included and extended files too:
// first the text, and then, by the type that its place asks for, whether it is a label's.
func (v *variables) watch(o *loader.Options) {
	substitute := o.Interpolate.Substitute
	o.Interpolate.Substitute = func(text string, lookup template.Mapping) (string, error) {
		v.last = lacking(text, lookup)
		return substitute(text, lookup)
	}
	casts := maps.Clone(o.Interpolate.TypeCastMapping)
	if casts == nil {
		casts = map[tree.Path]interp.Cast{}
	}
	for _, place := range [][]string{{"labels"}, {"build", "labels"}} {
		casts[tree.NewPath(slices.Concat([]string{"services", tree.PathMatchAll}, place, []string{tree.PathMatchAll})...)] = v.label
	}
	o.Interpolate.TypeCastMapping = casts
}

func (v *variables) label(text string) (any, error) {
	for _, u := range v.last {
		u.text = text
		v.uses = append(v.uses, u)
	}
	return text, nil
}

var variableName = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*`)

// lacking finds the variables of a text that have neither a value nor a default where
// they stand.
func lacking(text string, lookup template.Mapping) []use {
	var found []use
	for {
		_, after, dollar := strings.Cut(text, "$")
		if !dollar {
			return found
		}
		switch name := variableName.FindString(after); {
		case strings.HasPrefix(after, "$"):
			text = after[1:] // a $ that is meant
		case name != "":
			if _, set := lookup(name); !set {
				found = append(found, use{name: name})
			}
			text = after[len(name):]
		case strings.HasPrefix(after, "{"):
			inner := braces(after)
			found = append(found, lackingIn(inner, lookup)...)
			text = after[min(len(inner)+2, len(after)):]
		default:
			text = after // compose refuses it
		}
	}
}

// lackingIn judges what stands between the braces: NAME, or an operator behind it.
func lackingIn(inner string, lookup template.Mapping) []use {
	name := variableName.FindString(inner)
	operator := inner[len(name):]
	value, known := lookup(name)
	set := known
	if strings.HasPrefix(operator, ":") {
		operator, set = operator[1:], known && value != ""
	}
	switch {
	case operator == "":
		if !known && name != "" {
			return []use{{name: name, braced: true}}
		}
	case operator[0] == '-' && !set, operator[0] == '+' && set:
		return lacking(operator[1:], lookup)
	}
	return nil
}

// braces returns what is in the braces that a text begins with, those in it included.
func braces(text string) string {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[1:i]
			}
		}
	}
	return text[1:]
}

// findings tells of each variable once, and of a value with a $ in it once, however many
// pieces it fell into.
func (v *variables) findings(cfg label.Config, p *types.Project) []route.Diagnostic {
	var out []route.Diagnostic
	add := func(d route.Diagnostic) {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for _, u := range v.uses {
		if u.braced {
			add(unset(u.name))
		} else {
			add(eaten(label.ShownName(cfg, keyOf(p, u.text))))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Services)) {
		for _, file := range p.Services[name].LabelFiles {
			for _, key := range blanks(file) {
				add(blank(label.ShownName(cfg, key)))
			}
		}
	}
	return out
}

// keyOf finds the label that a text is the value of, or that it sets as key=value. ""
// when another file sets the label.
func keyOf(p *types.Project, text string) string {
	for _, name := range slices.Sorted(maps.Keys(p.Services)) {
		s := p.Services[name]
		sets := []types.Labels{s.Labels}
		if s.Build != nil {
			sets = append(sets, s.Build.Labels)
		}
		for _, labels := range sets {
			for _, key := range slices.Sorted(maps.Keys(labels)) {
				if labels[key] == text || key+"="+labels[key] == text {
					return key
				}
			}
		}
	}
	return ""
}

// blanks lists the labels of a label file with a variable that comes out empty: such a
// file knows no variables but those that stand above in it.
func blanks(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // compose has said so
	}
	above := map[string]bool{}
	var keys []string
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if value = strings.TrimSpace(value); strings.HasPrefix(key, "#") || strings.HasPrefix(value, "'") {
			continue
		}
		value, _, _ = strings.Cut(value, " #")
		value = strings.ReplaceAll(value, `\$`, "$$") // another way to write a $ that is meant
		if len(lacking(value, func(name string) (string, bool) { return "", above[name] })) > 0 {
			keys = append(keys, strings.TrimSpace(key))
		}
		above[strings.TrimSpace(key)] = true
	}
	return keys
}

// unset tells of a variable that nobody set.
func unset(name string) route.Diagnostic {
	return route.Diagnose("W133", "set "+name+" in the environment or in .env, or give a default: ${"+name+":-value}",
		"the variable %s is not set: compose puts nothing in its place", name)
}

// eaten tells of a $ that is not written as ${NAME}. The name is not shown: in a password
// hash it is the secret itself.
func eaten(label string) route.Diagnostic {
	d := route.Diagnose("W133", "write $$ for each $ of the value, or ${NAME} where a variable is meant",
		"the value has a $ that compose takes for the beginning of a variable, which is not set: it puts nothing in its place")
	d.Label = label
	return d
}

// blank tells of a variable in a label file.
func blank(label string) route.Diagnostic {
	d := route.Diagnose("W133", "move the label to `labels:` of the service, or write the value itself, with $$ for each $",
		"the value has a $ that begins a variable, and a label file gets none from the environment or .env: compose puts nothing in its place")
	d.Label = label
	return d
}
