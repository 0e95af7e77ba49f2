package config

import (
	"net/netip"
	"regexp"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// Settings lists what is in force, in the order of the file, with where each setting
// came from. No secret is in it.
func (l *Loaded) Settings() []api.Setting {
	var list []api.Setting
	for _, leaf := range leaves(&l.Config) {
		s := api.Setting{Key: leaf.path, Value: visible(leaf.value.Interface()), Source: api.FromDefault}
		if where := l.origins[leaf.path]; where != "" {
			s.Source, s.Where = sourceOf(where), &where
		}
		list = append(list, s)
	}
	return list
}

// sourceOf tells flags, variables and places in a file apart.
func sourceOf(where string) string {
	switch {
	case strings.HasPrefix(where, "--"):
		return api.FromFlag
	case strings.Contains(where, ":"): // file:line:column
		return api.FromFile
	}
	return api.FromEnvironment
}

// visible is what may be seen of a value, in JSON's types.
func visible(v any) any {
	switch value := v.(type) {
	case string:
		return withoutUserinfo(value)
	case time.Duration:
		return showDuration(value)
	case route.Secret:
		return showSecret(value)
	case []string:
		if value == nil {
			return []string{}
		}
	case map[string]string:
		if value == nil {
			return map[string]string{}
		}
	case []netip.Prefix:
		texts := make([]string, len(value))
		for i, p := range value {
			texts[i] = p.String()
		}
		return texts
	case []api.User:
		users := make([]api.ConfiguredUser, len(value))
		for i, u := range value {
			users[i] = api.ConfiguredUser{Name: u.Name, Role: u.Role, PasswordHash: route.Redacted}
		}
		return users
	}
	return v
}

// withoutUserinfo hides a user and a password in an address.
func withoutUserinfo(text string) string {
	return regexp.MustCompile(`://\S*@`).ReplaceAllString(text, "://"+route.Redacted+"@")
}
