package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"fairlead/api"
	"fairlead/router/route"
)

// What stands in messages about users: never a value, since it may be a hash, or a
// password where a hash belongs.
const usersForm = "a list of users, each with name, passwordHash and role"

// setUsers reads admin.users of a file.
func (f *fileReader) setUsers(l leaf, list *ast.SequenceNode) error {
	users := make([]api.User, 0, len(list.Values))
	for _, node := range list.Values {
		node = f.plain(node)
		mapping, ok := node.(*ast.MappingNode)
		if !ok {
			f.problem(place(f.name, node), "%s must be %s", l.path, usersForm)
			return nil
		}
		u := api.User{Role: api.RoleReadOnly}
		for _, entry := range mapping.Values {
			f.userField(l, &u, entry)
		}
		f.origins[fmt.Sprintf("%s.%d", l.path, len(users))] = place(f.name, node)
		users = append(users, u)
	}
	l.value.Set(reflect.ValueOf(users))
	return nil
}

func (f *fileReader) userField(l leaf, u *api.User, entry *ast.MappingValueNode) {
	where := place(f.name, entry.Key)
	key, ok := entry.Key.(*ast.StringNode)
	if !ok {
		f.problem(where, "%s must be %s", l.path, usersForm)
		return
	}
	text, isText := "", false
	switch n := f.plain(entry.Value).(type) {
	case *ast.StringNode:
		text, isText = n.Value, true
	case *ast.LiteralNode:
		text, isText = strings.TrimSpace(n.Value.Value), true
	}
	switch fields := []string{"name", "passwordHash", "role"}; {
	case !slices.Contains(fields, key.Value):
		p := Problem{Where: where, Message: fmt.Sprintf("%s: a user has no %q", l.path, key.Value), Fix: "permitted here: " + strings.Join(fields, ", ")}
		if near := nearest(key.Value, fields); near != "" {
			p.Fix = "did you mean " + near + "?"
		}
		f.problems = append(f.problems, p)
	case !isText:
		f.problem(where, "%s: %s must be a text in quotes", l.path, key.Value)
	case key.Value == "name":
		u.Name = text
	case key.Value == "passwordHash":
		u.PasswordHash = route.Secret(text)
	default:
		u.Role = api.Role(text)
	}
}

// parseUsers reads admin.users of a variable: name:role:hash, separated by white space.
// A hash has no white space and a name no colon.
func parseUsers(text string) ([]api.User, error) {
	users := []api.User{}
	for item := range strings.FieldsSeq(text) {
		parts := strings.SplitN(item, ":", 3)
		if len(parts) != 3 {
			return nil, errors.New("is not name:role:hash, several separated by spaces (in a compose file each $ is written $$)")
		}
		users = append(users, api.User{Name: parts[0], Role: api.Role(parts[1]), PasswordHash: route.Secret(parts[2])})
	}
	return users, nil
}

// showUsers is what may be seen of users.
func showUsers(users []api.User) string {
	texts := make([]string, len(users))
	for i, u := range users {
		texts[i] = u.Name + ":" + string(u.Role) + ":" + route.Redacted
	}
	return strings.Join(texts, " ")
}

// checkUsers finds users that cannot log in, and what protects them badly.
func (r *reader) checkUsers() {
	a := &r.config.Admin
	seen := map[string]bool{}
	for i, u := range a.Users {
		path, who := fmt.Sprintf("admin.users.%d", i), fmt.Sprintf("the user %q", u.Name)
		if u.Name == "" {
			who = fmt.Sprintf("user %d of the list", i+1)
		}
		weak, err := api.CheckUser(u)
		switch {
		case err != nil:
			r.contradictionOf(path, "admin.users", who+" "+err.Error(), "")
		case seen[u.Name]:
			r.contradictionOf(path, "admin.users", who+" is there twice", "remove one of them")
		case weak != "":
			r.warnings = append(r.warnings, fmt.Sprintf("admin.users: the password of %q is protected by %s, which is guessed quickly once it leaks: "+
				"make a new hash with fairlead hash-password", u.Name, weak))
		}
		seen[u.Name] = true
	}
	if host, _, err := net.SplitHostPort(a.Listen); err == nil && len(a.Users) > 0 && host != "localhost" {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Unmap().IsLoopback() {
			r.warnings = append(r.warnings, fmt.Sprintf("admin.listen (%s) is reached from other machines without TLS: passwords cross the network "+
				"in clear text unless a proxy that ends TLS is the only way to it", a.Listen))
		}
	}
}
