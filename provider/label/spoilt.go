package label

import (
	"fmt"
	"strings"
	"unicode"

	"fairlead/router/route"
)

// ShownName is a label's name as it may be shown. A list of labels in which one is
// written "name: value" makes the value a part of the name, and it may be a password: a
// name is shown up to the first character that no name of its kind has.
func ShownName(cfg Config, name string) string {
	if prefix := cfg.prefix() + "."; len(name) >= len(prefix) && fold(name[:len(prefix)]) == prefix {
		return entryOf(len(prefix), name, "").label
	}
	end := strings.IndexFunc(name, func(r rune) bool { return notInKey(r) && r != '/' }) // others use slashes
	return masked(name, end)
}

// entryOf reads a label whose name begins with prefix bytes that are ours. What its name
// holds behind the key is masked here, so that nothing that comes later can show it.
func entryOf(prefix int, name, value string) entry {
	e := entry{label: name, written: name, raw: name, text: strings.TrimSpace(value)}
	if end := nameEnd(name, prefix); end < len(name) {
		e.written = strings.TrimRight(name[:end], ":=")
		e.label = masked(name, len(e.written))
	}
	return e
}

// masked hides what stands in a name behind end and the characters that set it off;
// a negative end is that of the name.
func masked(name string, end int) string {
	if end < 0 {
		return name
	}
	rest := strings.TrimLeft(name[end:], ":= \t")
	if rest == "" {
		return name
	}
	return name[:len(name)-len(rest)] + route.Redacted
}

// nameEnd is where the part of a label's name ends that can be one of ours.
func nameEnd(name string, prefix int) int {
	first, behind, more := strings.Cut(name[prefix:], ".")
	at := prefix
	if i := strings.IndexFunc(first, notInKey); i >= 0 {
		return at + i
	}
	if !more {
		return len(name)
	}
	at += len(first) + 1
	service, key, more := strings.Cut(behind, ".")
	if i := serviceEnd(service, key, more); i >= 0 {
		return at + i
	}
	if !more {
		return len(name)
	}
	at += len(service) + 1
	if i := keyEnd(key); i >= 0 {
		return at + i
	}
	return len(name)
}

// serviceEnd is where the name of a service ends for certain, negative when it does not.
// A wrong name of one is best shown in full, and is one as long as a key that we know
// comes behind it.
func serviceEnd(service, key string, more bool) int {
	if !more {
		return strings.IndexFunc(service, notInKey)
	}
	i := strings.IndexFunc(service, notInService)
	if i < 0 {
		return i
	}
	if k, _ := catalog.find(route.HTTP, key); k != nil && !strings.ContainsAny(service[:i+1], ":=") {
		return -1
	}
	return i
}

// keyEnd is where a key ends, negative at its end. The name of a header may hold more
// characters than other keys.
func keyEnd(key string) int {
	if k, param := catalog.find(route.HTTP, key); k != nil && strings.HasSuffix(k.Name, ".<Name>") {
		i := strings.IndexFunc(param, func(r rune) bool { return !isToken(string(r)) })
		if i < 0 {
			return i
		}
		return len(key) - len(param) + i
	}
	return strings.IndexFunc(key, notInKey)
}

func notInKey(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_", r)
}

func notInService(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_@+~:", r)
}

// spoilt reports whether the name goes on behind what can be one.
func (e *entry) spoilt() bool { return e.written != e.label }

// redacted stands for a value that nobody may see; one that is part of the name has its
// mask there.
func (e *entry) redacted() string {
	if e.spoilt() && e.text == "" {
		return ""
	}
	return route.Redacted
}

// joined reports whether a colon joins a spoilt name to the rest, as YAML joins a key to
// its value.
func (e *entry) joined() bool { return strings.HasPrefix(e.label[len(e.written):], ":") }

// whySpoilt says what is wrong with a name that goes on.
func (e *entry) whySpoilt() string {
	if e.joined() {
		return "the label is written \"name: value\" where \"name=value\" is needed"
	}
	return "the name holds a character that no key has"
}

// mendSpoilt says how to write a label whose name goes on.
func (e *entry) mendSpoilt() string {
	return fmt.Sprintf("write %s=VALUE (in a list of labels, = stands between a name and its value)", shorten(e.written, shownLabel))
}
