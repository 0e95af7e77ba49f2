package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFileBytes bounds a configuration file; the largest sensible one is far smaller.
const maxFileBytes = 1 << 20

// readFile brings the settings of a file into force. name stands in messages.
func (r *reader) readFile(name string, text []byte) {
	if len(text) > maxFileBytes {
		r.problem(name, "the file has %d bytes, %d at most", len(text), maxFileBytes)
		return
	}
	file, err := parse(text)
	if err != nil {
		r.syntax(name, err)
		return
	}
	if len(file.Docs) > 1 {
		r.problem(place(name, file.Docs[1].Body), "a second document begins here; one is read")
	}
	f := fileReader{reader: r, name: name, anchors: map[string]ast.Node{}}
	for _, doc := range file.Docs[:min(1, len(file.Docs))] {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			f.section("", doc.Body)
		}
	}
}

// parse keeps a panic of the YAML package from ending the router: the file is input
// like any other.
func parse(text []byte) (file *ast.File, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the YAML reader failed on this file: %v", v)
		}
	}()
	return parser.ParseBytes(text, 0)
}

func (r *reader) syntax(name string, err error) {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil && syntax.Token.Position != nil {
		pos := syntax.Token.Position
		r.problem(fmt.Sprintf("%s:%d:%d", name, pos.Line, pos.Column), "not YAML: %s", syntax.Message)
		return
	}
	r.problem(name, "not YAML: %s", firstLine(err.Error()))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// fileReader walks the nodes of one file.
type fileReader struct {
	*reader
	name    string
	anchors map[string]ast.Node
}

func place(name string, node ast.Node) string {
	if node == nil || node.GetToken() == nil || node.GetToken().Position == nil {
		return name
	}
	pos := node.GetToken().Position
	return fmt.Sprintf("%s:%d:%d", name, pos.Line, pos.Column)
}

// plain follows anchors, aliases and tags to the value itself.
func (f *fileReader) plain(node ast.Node) ast.Node {
	for range 100 { // an alias may name the anchor that it stands in
		switch n := node.(type) {
		case *ast.AnchorNode:
			f.anchors[n.Name.GetToken().Value] = n.Value
			node = n.Value
		case *ast.AliasNode:
			target, ok := f.anchors[n.Value.GetToken().Value]
			if !ok {
				return node
			}
			node = target
		case *ast.TagNode:
			node = n.Value
		default:
			return node
		}
	}
	return node
}

// section reads the mapping at a path; "" is the whole file.
func (f *fileReader) section(path string, node ast.Node) {
	value := f.plain(node)
	if value == nil || value.Type() == ast.NullType {
		return // a section with everything commented out
	}
	mapping, ok := value.(*ast.MappingNode)
	if !ok {
		f.problem(place(f.name, value), "%s must hold settings, not %s", named(path), describe(value))
		return
	}
	for _, entry := range mapping.Values {
		f.entry(path, entry)
	}
}

func named(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func (f *fileReader) entry(parent string, entry *ast.MappingValueNode) {
	key, ok := entry.Key.(*ast.StringNode)
	if !ok {
		f.problem(place(f.name, entry.Key), "%s is not a setting", describe(entry.Key))
		return
	}
	path := key.Value
	if parent != "" {
		path = parent + "." + key.Value
	}
	where := place(f.name, entry.Key)
	if l, ok := f.leaf(path); ok {
		if err := f.set(l, f.plain(entry.Value)); err != nil {
			f.problem(place(f.name, entry.Value), "%s: %v", path, err)
			return
		}
		f.origins[path] = where
		return
	}
	if f.isSection(path) {
		f.section(path, entry.Value)
		return
	}
	f.unknown(where, path)
}

// set gives a setting the value of a node; the types must agree.
func (f *fileReader) set(l leaf, node ast.Node) error {
	if l.kind() == "secret" {
		return l.setSecret(node)
	}
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return errors.New("has no value: give one or remove the line")
	case *ast.StringNode:
		return l.setScalarText(n.Value)
	case *ast.LiteralNode:
		return l.setScalarText(n.Value.Value)
	case *ast.BoolNode:
		if l.kind() == "true/false" {
			l.value.SetBool(n.Value)
			return nil
		}
	case *ast.IntegerNode:
		return l.setNumber(n)
	case *ast.SequenceNode:
		if l.kind() == "users" {
			return f.setUsers(l, n)
		}
		if l.kind() == "list" {
			items, err := f.texts(n.Values)
			if err != nil {
				return err
			}
			return l.setList(items)
		}
	case *ast.MappingNode:
		if l.kind() == "table" {
			return f.setTable(l, n)
		}
	}
	return l.wrongType(describe(node))
}

// setSecret takes a text. What else it is may be a secret in the wrong form: it is not
// shown.
func (l leaf) setSecret(node ast.Node) error {
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return errors.New("has no value: give one or remove the line")
	case *ast.StringNode:
		l.value.SetString(strings.TrimSpace(n.Value))
	case *ast.LiteralNode:
		l.value.SetString(strings.TrimSpace(n.Value.Value))
	default:
		return errors.New("must be a text in quotes")
	}
	return nil
}

func (l leaf) wrongType(got string) error {
	if l.kind() == "users" {
		return errors.New("must be " + usersForm) // what it is may be a secret
	}
	want := map[string]string{
		"true/false": "true or false", "number": "a whole number", "duration": "a duration such as 10s",
		"list": "a list such as [a, b]", "table": "name: value lines", "text": "a text in quotes",
	}[l.kind()]
	return fmt.Errorf("must be %s, not %s", want, got)
}

func (l leaf) setScalarText(text string) error {
	switch l.kind() {
	case "text":
		return l.setWord(text)
	case "duration":
		d, err := parseDuration(text)
		if err != nil {
			return err
		}
		return l.setDuration(d)
	}
	return l.wrongType(fmt.Sprintf("the text %q", text))
}

func (l leaf) setNumber(n *ast.IntegerNode) error {
	number, ok := int64Of(n.Value)
	switch {
	case l.kind() == "number" && ok:
		return l.setInt(int(number))
	case l.kind() == "duration" && ok:
		d, err := milliseconds(number)
		if err != nil {
			return err
		}
		return l.setDuration(d)
	case !ok:
		return fmt.Errorf("%s is out of range", n.Token.Value)
	}
	return l.wrongType("the number " + n.Token.Value)
}

func int64Of(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case uint64:
		return int64(n), n <= 1<<63-1
	}
	return 0, false
}

func (f *fileReader) texts(nodes []ast.Node) ([]string, error) {
	items := make([]string, 0, len(nodes))
	for _, node := range nodes {
		text, ok := f.plain(node).(*ast.StringNode)
		if !ok {
			return nil, fmt.Errorf("the list must hold texts, not %s", describe(node))
		}
		items = append(items, text.Value)
	}
	return items, nil
}

func (f *fileReader) setTable(l leaf, mapping *ast.MappingNode) error {
	table := map[string]string{}
	for _, entry := range mapping.Values {
		key, okKey := entry.Key.(*ast.StringNode)
		value, okValue := f.plain(entry.Value).(*ast.StringNode)
		if !okKey || !okValue {
			return errors.New("every line must be a name and a text")
		}
		table[key.Value] = value.Value
		f.origins[l.path+"."+key.Value] = place(f.name, entry.Key)
	}
	l.value.Set(reflect.ValueOf(table))
	return nil
}

// describe says what a node is, in words.
func describe(node ast.Node) string {
	switch n := node.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.BoolNode:
		return n.Token.Value
	case *ast.IntegerNode:
		return "the number " + n.Token.Value
	case *ast.FloatNode:
		return "the number " + n.Token.Value
	case *ast.StringNode:
		return fmt.Sprintf("the text %q", n.Value)
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode:
		return "a table"
	case *ast.AliasNode:
		return "an alias without an anchor before it"
	case *ast.MergeKeyNode:
		return "a merge key (<<)"
	}
	return "this kind of value"
}
