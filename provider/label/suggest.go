package label

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairlead/router/route"
)

// maxDistance is how many edits away a key may be to be suggested (rule 5).
const maxDistance = 2

// form is one spelling that an unknown key is compared with.
type form struct {
	key  *Key
	text string
	// depth is the number of leading segments of the unknown key that count, of parts
	// in all; 0 is all of any number.
	depth, parts int
	// weak forms are single words of a name: good enough to suggest a key, not to
	// conclude that it was meant.
	weak bool
}

// formsOf lists the spellings of a key: the whole, each dot segment, and the last
// camel-case words of each. Of families, the fixed part.
func formsOf(k *Key) []form {
	name, _, family := strings.Cut(k.Name, ".<")
	segments := strings.Split(name, ".")
	out := []form{{key: k, text: fold(name)}}
	if family {
		out = append(out, form{key: k, text: fold(name), depth: len(segments), parts: strings.Count(k.Name, ".") + 1})
	}
	for _, s := range segments {
		if len(segments) > 1 {
			out = append(out, form{key: k, text: fold(s)})
		}
		for i := 1; i < len(s); i++ {
			if 'A' <= s[i] && s[i] <= 'Z' && (s[i-1] < 'A' || s[i-1] > 'Z') {
				out = append(out, form{key: k, text: fold(s[i:]), weak: true})
			}
		}
	}
	return out
}

// near is a key close to what somebody wrote. strong is the distance without the
// weak forms.
type near struct {
	key              *Key
	distance, strong int
}

// nearest returns the keys close to an unknown one, nearest first, then keys that
// work now, then plain before dotted, then the shortest. An empty protocol means
// the keys of the container itself.
func (ix index) nearest(p route.Protocol, unknown string) []near {
	unknown = fold(unknown)
	best := map[*Key]near{}
	note := func(k *Key, d int, weak bool) {
		n, ok := best[k]
		if !ok {
			n = near{k, d, 2 * len(unknown)}
		}
		n.distance = min(n.distance, d)
		if !weak {
			n.strong = min(n.strong, d)
		}
		best[k] = n
	}
	segments := strings.Split(unknown, ".")
	for _, f := range ix.forms[p] {
		text := unknown
		if f.depth > 0 {
			if len(segments) != f.parts {
				continue
			}
			text = strings.Join(segments[:f.depth], ".")
		}
		if d := distance(text, f.text, maxDistance); d <= maxDistance && d < max(len(text), len(f.text)) {
			note(f.key, d, f.weak)
		}
	}
	for i := range ix.keys {
		k := &ix.keys[i]
		if len(segments) > 1 && slices.Contains(k.Protocols, p) {
			if d, ok := segmentwise(segments, strings.Split(fold(k.Name), ".")); ok {
				note(k, d, false)
			}
		}
	}
	return rank(best)
}

// segmentwise compares two dotted keys part by part: each may be misspelt.
func segmentwise(a, b []string) (sum int, ok bool) {
	if len(a) != len(b) {
		return 0, false
	}
	for i := range a {
		d := distance(a[i], b[i], maxDistance)
		if d > maxDistance || d >= max(len(a[i]), len(b[i])) {
			return 0, false
		}
		sum += d
	}
	return sum, true
}

func rank(best map[*Key]near) []near {
	out := slices.Collect(maps.Values(best))
	slices.SortFunc(out, func(a, b near) int {
		return cmp.Or(
			cmp.Compare(a.distance, b.distance),
			cmp.Compare(rankOf(a.key.Available == Later), rankOf(b.key.Available == Later)),
			cmp.Compare(rankOf(strings.Contains(a.key.Name, ".")), rankOf(strings.Contains(b.key.Name, "."))),
			cmp.Compare(len(a.key.Name), len(b.key.Name)),
			cmp.Compare(a.key.Name, b.key.Name))
	})
	return out
}

func rankOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// keysOf returns the first three keys of a ranked list.
func keysOf(list []near) []*Key {
	var out []*Key
	for _, n := range list[:min(len(list), 3)] {
		out = append(out, n.key)
	}
	return out
}

func names(keys []*Key) []string {
	var out []string
	for _, k := range keys {
		out = append(out, k.Name)
	}
	return out
}

// distance counts the edits between two texts: insertions, deletions, substitutions
// and swaps of neighbours. Beyond limit it returns limit+1 without finishing.
func distance(a, b string, limit int) int {
	if a == b {
		return 0
	}
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		lowest := current[0]
		for j := range len(b) {
			cost := rankOf(a[i] != b[j])
			current[j+1] = min(last[j]+cost, last[j+1]+1, current[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
			lowest = min(lowest, current[j+1])
		}
		if lowest > limit {
			return limit + 1
		}
		before, last, current = last, current, before
	}
	return min(last[len(b)], limit+1)
}
