package file

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// scalar decodes a text, a number or a boolean. Nothing is converted: a port in
// quotes or an unquoted hash of digits is a mistake that is better said than guessed.
func (d *decoder) scalar(n ast.Node, v reflect.Value, path string) {
	switch v.Interface().(type) {
	case textOrNumber:
		if text, ok := textOf(n); ok {
			v.SetString(text)
		} else if number, ok := integerOf(n); ok {
			v.SetString(strconv.FormatInt(number, 10))
		} else {
			d.wrongType(n, path, "a number or a text")
		}
	case number:
		if f, ok := n.(*ast.FloatNode); ok {
			v.SetString(strconv.FormatFloat(f.Value, 'f', -1, 64))
		} else if i, ok := integerOf(n); ok {
			v.SetString(strconv.FormatInt(i, 10))
		} else {
			d.wrongType(n, path, "a number")
		}
	case string:
		if text, ok := textOf(n); ok {
			v.SetString(text)
		} else {
			d.problem(n, at(path, "must be a text, not "+typeName(n)), "put it in quotes")
		}
	case bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
		} else {
			d.wrongType(n, path, "true or false")
		}
	case int:
		if i, ok := integerOf(n); ok {
			v.SetInt(i)
		} else {
			d.wrongType(n, path, "a whole number")
		}
	default:
		panic("file: a field of kind " + v.Kind().String()) // a programming error, found by any test
	}
}

func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		if n.Value != nil {
			return n.Value.Value, true
		}
	}
	return "", false
}

func integerOf(n ast.Node) (int64, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch v := i.Value.(type) {
	case int64:
		return v, true
	case uint64:
		if v <= 1<<63-1 {
			return int64(v), true
		}
	}
	return 0, false
}

// wrongType says what is expected and what is there, never the value.
func (d *decoder) wrongType(n ast.Node, path, want string) {
	d.problem(n, at(path, fmt.Sprintf("must be %s, not %s", want, typeName(n))), "")
}

func typeName(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode:
		if _, ok := integerOf(n); !ok {
			return "a number that is too large"
		}
		return "a whole number"
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number with a fraction"
	case *ast.BoolNode:
		return "true or false"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	}
	return "something else"
}

// pairsOf returns the keys and values of a mapping.
func pairsOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// keyText is a key as written. Keys that are no scalars get a text that no key has.
func keyText(n ast.MapKeyNode) string {
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value
	case *ast.MappingKeyNode:
		if s, ok := k.Value.(*ast.StringNode); ok {
			return s.Value
		}
	case *ast.IntegerNode:
		return k.Token.Value
	}
	return "?"
}

// keysOf lists the keys of a struct in the order of its fields, which is the order
// of their indices: fields without a key come last.
func keysOf(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		if key := f.Tag.Get("key"); key != "" {
			out = append(out, key)
		}
	}
	return out
}

// quoted shows a key: short and escaped.
func quoted(s string) string {
	const limit = 60
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return strconv.QuoteToASCII(s)
}
