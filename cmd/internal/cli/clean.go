package cli

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// printable makes text from labels, names and answers safe for a terminal: control
// characters, which may move the cursor or change what stands elsewhere, are shown
// as escapes.
func printable(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if !hidden(c) {
			b.WriteRune(c)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(c)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func hidden(c rune) bool {
	return !unicode.IsPrint(c)
}

// cleaned returns v with every text in it made printable. v must be plain data, and
// the only copy of it: texts are replaced in place.
func cleaned[T any](v T) T {
	clean(reflect.ValueOf(&v).Elem())
	return v
}

func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(printable(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				clean(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			clean(v.Index(i))
		}
	default:
	}
}
