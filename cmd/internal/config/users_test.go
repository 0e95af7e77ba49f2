package config

import (
	"strings"
	"testing"

	"fairlead/api"
)

const shaHash = "0de6e984350f90c6ba8655ebd22f171f996d77b104dc83f2e1b9d0b3f803e886"

func TestUsersOfAVariable(t *testing.T) {
	l := load(t, Source{Env: []string{"FAIRLEAD_ADMIN_USERS= ops:admin:" + hash + "\n watch:read-only:" + hash + " "}})
	u := l.Config.Admin.Users
	if len(u) != 2 || u[0].Name != "ops" || u[0].Role != api.RoleAdmin || u[1].PasswordHash.Reveal() != hash || u[1].Role != api.RoleReadOnly {
		t.Errorf("%+v", u)
	}
	for _, l := range leaves(&l.Config) {
		if text := show(l.value); strings.Contains(text, hash) || l.path == "admin.users" && text != "ops:admin:*** watch:read-only:***" {
			t.Errorf("%s is shown as %s", l.path, text)
		}
	}
}

func TestUsersWarnings(t *testing.T) {
	for _, c := range []struct{ listen, hash, warns string }{
		{"127.0.0.1:3035", hash, ""},
		{"localhost:3035", hash, ""},
		{"[::1]:3035", hash, ""},
		{"127.0.0.1:3035", shaHash, `the password of "ops" is protected by SHA-256 without a salt`},
		{"0.0.0.0:3035", hash, "admin.listen (0.0.0.0:3035) is reached from other machines without TLS"},
		{":3035", hash, "clear text"},
		{"router.lan:3035", hash, "clear text"},
	} {
		l := load(t, Source{Env: []string{"FAIRLEAD_ADMIN_LISTEN=" + c.listen, "FAIRLEAD_ADMIN_USERS=ops:admin:" + c.hash}})
		if all := strings.Join(l.Warnings, "\n"); (c.warns == "") != (all == "") || !strings.Contains(all, c.warns) || strings.Contains(all, c.hash) {
			t.Errorf("%s: %q, want %q", c.listen, all, c.warns)
		}
	}
}
