package file

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Bounds of a file.
const (
	maxFileBytes = 16 << 20
	maxDepth     = 40
	maxNodes     = 1_000_000 // aliases count each time they are used
)

// decode reads a file's text strictly: unknown keys, wrong types and keys that are
// there twice are problems. It never panics and never quotes a value.
func decode(text []byte) (doc document, problems []problem) {
	if len(text) > maxFileBytes {
		return doc, []problem{{message: fmt.Sprintf("larger than %d MiB", maxFileBytes>>20), hint: "is this the right file?"}}
	}
	body, problems := parse(bytes.TrimPrefix(text, []byte("\ufeff")))
	if problems != nil {
		return doc, problems
	}
	d := &decoder{anchors: map[string]ast.Node{}}
	d.collect(body, 0)
	d.into(body, reflect.ValueOf(&doc).Elem(), "", 0)
	if len(d.problems) == 0 && !d.seenEntrypoints {
		d.problem(body, "the key entrypoints is missing", "write `entrypoints: []` to route nothing")
	}
	slices.SortFunc(d.problems, byPlace)
	d.problems = slices.Compact(d.problems)
	return doc, d.problems
}

// parse returns the tree of the only document.
func parse(text []byte) (body ast.Node, problems []problem) {
	defer func() {
		if r := recover(); r != nil {
			// A file must not stop the router; the parser's panic is one more way to say no.
			body, problems = nil, []problem{{message: "cannot be read as YAML", hint: "check quotes and indentation"}}
		}
	}()
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, []problem{syntaxProblem(err)}
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, []problem{{at: positionOf(doc.Body), message: "a second document begins here", hint: "put all entrypoints into one list"}}
		}
		body = doc.Body
	}
	if _, comment := body.(*ast.CommentGroupNode); comment {
		body = nil
	}
	if body == nil {
		return nil, []problem{{message: "the file is empty", hint: "write `entrypoints: []` to route nothing"}}
	}
	return body, nil
}

// syntaxProblem takes message and place of a parser's error, and leaves out the
// lines of the file that its own text quotes.
func syntaxProblem(err error) problem {
	var syntax yaml.Error
	if !errors.As(err, &syntax) {
		return problem{message: "cannot be read as YAML", hint: "check quotes and indentation"}
	}
	p := problem{message: "not valid YAML: " + syntax.GetMessage()}
	if tk := syntax.GetToken(); tk != nil && tk.Position != nil {
		p.at = position{tk.Position.Line, tk.Position.Column}
	}
	return p
}

// decoder walks the tree along the types of the document.
type decoder struct {
	anchors         map[string]ast.Node
	problems        []problem
	nodes           int
	tooLarge        bool
	seenEntrypoints bool
	wanted          map[string]position // keys whose places are asked for; nil for none
}

func (d *decoder) problem(at ast.Node, message, hint string) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, problem{at: positionOf(at), message: message, hint: hint})
	}
}

func positionOf(n ast.Node) position {
	if v, ok := n.(*ast.MappingValueNode); ok && v.Key != nil {
		n = v.Key
	}
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return position{tk.Position.Line, tk.Position.Column}
	}
	return position{}
}

// collect notes every anchor.
func (d *decoder) collect(n ast.Node, depth int) {
	if n == nil || depth > maxDepth {
		return
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		if n.Name != nil && n.Value != nil {
			d.anchors[n.Name.GetToken().Value] = n.Value
		}
		d.collect(n.Value, depth+1)
	case *ast.MappingNode:
		for _, v := range n.Values {
			d.collect(v.Value, depth+1)
		}
	case *ast.MappingValueNode:
		d.collect(n.Value, depth+1)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			d.collect(v, depth+1)
		}
	}
}

// resolve follows anchors and aliases; nil after a problem.
func (d *decoder) resolve(n ast.Node, path string) ast.Node {
	for range maxDepth {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.AliasNode:
			name := ""
			if v.Value != nil && v.Value.GetToken() != nil {
				name = v.Value.GetToken().Value
			}
			if n = d.anchors[name]; n == nil {
				d.problem(v, at(path, "the alias names no anchor of this file"), "")
				return nil
			}
		case *ast.TagNode:
			d.problem(v, at(path, "tags (!) are not used here"), "remove the tag")
			return nil
		default:
			return n
		}
	}
	d.problem(n, at(path, "an alias leads to itself"), "")
	return nil
}

// at puts a path in front of a message.
func at(path, message string) string {
	if path == "" {
		return message
	}
	return path + ": " + message
}

// into decodes a node into a value that can be set. Null leaves it as it is; field makes
// it empty where that is another thing than a key that is not there.
func (d *decoder) into(n ast.Node, v reflect.Value, path string, depth int) {
	if d.nodes++; d.tooLarge {
		return
	}
	if depth > maxDepth || d.nodes > maxNodes {
		d.problem(n, at(path, "nested too deeply, or too large with its aliases"), "")
		d.tooLarge = true
		return
	}
	if n = d.resolve(n, path); n == nil {
		return
	}
	if _, null := n.(*ast.NullNode); null {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		d.into(n, fresh.Elem(), path, depth+1)
		v.Set(fresh)
	case reflect.Struct:
		d.object(n, v, path, depth)
	case reflect.Slice:
		d.sequence(n, v, path, depth)
	case reflect.Map:
		d.texts(n, v, path, depth)
	default:
		d.scalar(n, v, path)
	}
}

// object decodes a mapping into a struct; merged mappings (<<) first, so that keys
// of its own win.
func (d *decoder) object(n ast.Node, v reflect.Value, path string, depth int) {
	values, ok := pairsOf(n)
	if !ok {
		d.wrongType(n, path, "a mapping with the keys "+strings.Join(keysOf(v.Type()), ", "))
		return
	}
	if v.Type() == reflect.TypeFor[entry]() {
		v.FieldByName("At").Set(reflect.ValueOf(positionOf(n)))
	}
	for _, kv := range values {
		if _, merge := kv.Key.(*ast.MergeKeyNode); merge {
			d.merge(kv.Value, v, path, depth)
		}
	}
	for _, kv := range values {
		if _, merge := kv.Key.(*ast.MergeKeyNode); !merge {
			d.field(kv, v, path, depth)
		}
	}
}

func (d *decoder) merge(n ast.Node, v reflect.Value, path string, depth int) {
	n = d.resolve(n, path)
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, one := range slices.Backward(list.Values) { // the first one wins
			d.into(one, v, path, depth+1)
		}
		return
	}
	if n != nil {
		d.into(n, v, path, depth+1)
	}
}

func (d *decoder) field(kv *ast.MappingValueNode, v reflect.Value, path string, depth int) {
	name := keyText(kv.Key)
	index := slices.Index(keysOf(v.Type()), name)
	if index < 0 {
		d.problem(kv.Key, at(path, fmt.Sprintf("unknown key %s", quoted(name))), suggest(name, keysOf(v.Type())))
		return
	}
	d.seenEntrypoints = d.seenEntrypoints || path == "" && !isNull(kv.Value)
	d.note(join(path, name), kv.Key)
	target := v.Field(index)
	target.SetZero()
	d.into(kv.Value, target, join(path, name), depth+1)
	if target.IsZero() && v.Type().Field(index).Tag.Get("null") == "empty" {
		switch target.Kind() {
		case reflect.Slice:
			target.Set(reflect.MakeSlice(target.Type(), 0, 0))
		default:
			target.Set(reflect.New(target.Type().Elem()))
		}
	}
}

func isNull(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return n == nil || null
}

func (d *decoder) sequence(n ast.Node, v reflect.Value, path string, depth int) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrongType(n, path, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	for i, item := range list.Values {
		where := fmt.Sprintf("%s[%d]", path, i)
		if isNull(item) {
			d.problem(list, where+": the entry is empty", "")
			continue
		}
		d.into(item, out.Index(i), where, depth+1)
	}
	v.Set(out)
}

// texts decodes a mapping whose keys the user chooses.
func (d *decoder) texts(n ast.Node, v reflect.Value, path string, depth int) {
	values, ok := pairsOf(n)
	if !ok {
		d.wrongType(n, path, "a mapping of names to texts")
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(values))
	for _, kv := range values {
		d.note(join(path, shown(keyText(kv.Key))), kv.Key)
		text := reflect.New(v.Type().Elem()).Elem()
		d.into(kv.Value, text, join(path, quoted(keyText(kv.Key))), depth+1)
		out.SetMapIndex(reflect.ValueOf(keyText(kv.Key)), text)
	}
	v.Set(out)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
