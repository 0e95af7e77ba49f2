package api

import (
	"encoding"
	"reflect"
	"strings"
)

// shapes collects the schemas of Go types by their names, as they are in JSON.
type shapes map[string]any

// schema is one in JSON Schema, draft 2020-12.
type schema = map[string]any

// of returns the schema of a type: a reference for a struct, which is described once.
func (s shapes) of(t reflect.Type) schema {
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return schema{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case reflect.Struct:
		if _, known := s[t.Name()]; !known {
			s[t.Name()] = nil // it may hold itself
			s[t.Name()] = s.object(t)
		}
		return schema{"$ref": "#/components/schemas/" + t.Name()}
	case reflect.Slice, reflect.Array:
		return schema{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	default: // any value
		return schema{}
	}
}

func orNull(s schema) schema {
	if _, ref := s["$ref"]; ref {
		return schema{"anyOf": []schema{s, {"type": "null"}}}
	}
	s["type"] = []any{s["type"], "null"}
	return s
}

// object describes the fields that encoding/json writes.
func (s shapes) object(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required}
}
