package config

import (
	"net/netip"
	"reflect"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// EnvPrefix begins the environment variable of every setting.
const EnvPrefix = "FAIRLEAD_"

// Key describes one setting, for the reference documentation.
type Key struct {
	Path    string // as in the file: proxy.http.listen
	Env     string // FAIRLEAD_PROXY_HTTP_LISTEN
	Type    string // text, true/false, number, duration, list, table, users, secret
	Default string // as it would be written; "" for none
	Range   string // "1ms to 1h", "a, b or c"; "" for none
	Doc     string
}

// Keys lists every setting in the order of the file.
func Keys() []Key {
	c := Default()
	var keys []Key
	for _, l := range leaves(&c) {
		keys = append(keys, Key{
			Path: l.path, Env: l.env(), Type: l.kind(), Default: show(l.value), Range: l.rangeText(), Doc: l.tag.Get("doc"),
		})
	}
	return keys
}

// leaf is one setting of one Config.
type leaf struct {
	path  string
	tag   reflect.StructTag
	value reflect.Value
}

// leaves lists the settings of c; writing to a leaf's value writes to c.
func leaves(c *Config) []leaf {
	return collect(nil, "", reflect.ValueOf(c).Elem())
}

func collect(list []leaf, prefix string, v reflect.Value) []leaf {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		path := prefix + field.Tag.Get("key")
		if field.Type.Kind() == reflect.Struct {
			list = collect(list, path+".", v.Field(i))
			continue
		}
		list = append(list, leaf{path: path, tag: field.Tag, value: v.Field(i)})
	}
	return list
}

func (l leaf) env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(l.path, ".", "_"))
}

// kind is the leaf's type in words of the documentation.
func (l leaf) kind() string {
	switch l.value.Interface().(type) {
	case bool:
		return "true/false"
	case int:
		return "number"
	case time.Duration:
		return "duration"
	case []string, []netip.Prefix:
		return "list"
	case map[string]string:
		return "table"
	case []api.User:
		return "users"
	case route.Secret:
		return "secret"
	}
	return "text"
}

func (l leaf) rangeText() string {
	if one := l.tag.Get("one"); one != "" {
		return orList(strings.Split(one, ","))
	}
	if lo, hi := l.tag.Get("min"), l.tag.Get("max"); lo != "" {
		return lo + " to " + hi
	}
	return ""
}

// orList is "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
