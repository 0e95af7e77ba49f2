package file

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairlead/router/route"
)

// wording rewrites what is said about labels into the words of the file.
type wording struct {
	t       *translation
	replace *strings.Replacer
}

func (t *translation) wording() *wording {
	var pairs []string
	for _, label := range longestFirst(t.places) {
		pairs = append(pairs, label, t.places[label])
	}
	pairs = append(pairs, t.prefix, t.base+".config.", strings.TrimSuffix(t.prefix, "."), t.base,
		"the labels ", "the keys ", "the label ", "the key ", "the label,", "the key,", "the label;", "the key;", "the label:", "the key:",
		"these labels", "these keys", "by a label", "by a key",
		// A list is a list here and no text, durations have a fixed unit, and nothing is interpolated.
		"user:hash, comma separated", "a list of username and password_hash", ", comma separated", " (a list)",
		" or a duration such as 1m30s", "", composeHint, "")
	pairs = append(pairs, bareWords()...)
	return &wording{t: t, replace: strings.NewReplacer(pairs...)}
}

// longestFirst sorts the names in tables so that none stands behind one that it begins
// with.
func longestFirst(tables ...map[string]string) []string {
	var names []string
	for _, t := range tables {
		names = slices.AppendSeq(names, maps.Keys(t))
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	return names
}

// composeHint is advice about compose files, which does not hold for ours.
const composeHint = "; in a compose file each `$` of a hash must be written `$$`, otherwise compose takes it for a variable"

// diagnostics returns the findings in the words of the file. The list is not changed.
func (w *wording) diagnostics(in []route.Diagnostic) []route.Diagnostic {
	out := slices.Clone(in)
	for i := range out {
		d := &out[i]
		d.Message, d.Hint = w.text(d.Label, d.Message), w.text(d.Label, d.Hint)
		d.Label = w.label(d.Label)
		if d.Code == "E002" {
			d.Hint = "set " + w.t.base + ".config.hostnames to a list of names such as app.example.com"
		}
	}
	return out
}

// label is the key of the file that a label stands for.
func (w *wording) label(label string) string {
	if place, ok := w.t.places[label]; ok {
		return place
	}
	return w.replace.Replace(label)
}

// text rewrites a sentence about a label. The label's own key stands in it without
// the prefix as well.
func (w *wording) text(label, text string) string {
	text = w.replace.Replace(text + " ")
	text = text[:len(text)-1]
	key, inside := strings.CutPrefix(label, w.t.prefix)
	place, known := strings.CutPrefix(w.t.places[label], w.t.base+".")
	if inside && known && key != place {
		text = strings.ReplaceAll(text, "set "+key+" to ", "set "+place+" to ")
		text = strings.ReplaceAll(text, "enforce "+key+":", "enforce "+place+":")
	}
	return text
}

// failClosed names the key of the file that closed the route.
func (w *wording) failClosed(f *route.FailClosed) *route.FailClosed {
	if f == nil {
		return nil
	}
	return &route.FailClosed{Code: f.Code, Label: w.label(f.Label)}
}

// origins names the keys of the file that set options. The priority that only names the
// service (translate) is none of them.
func (w *wording) origins(in []route.Origin) []route.Origin {
	var out []route.Origin
	for _, o := range in {
		if o.Key != "priority" || w.t.labels[o.Label] != "0" {
			out = append(out, route.Origin{Key: o.Key, Label: w.label(o.Label)})
		}
	}
	return out
}
