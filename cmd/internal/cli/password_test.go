package cli

import (
	"os"
	"strings"
	"testing"

	"fairlead/api"
	"fairlead/cmd/internal/config"
)

func hashOf(t *testing.T, input string, args ...string) result {
	t.Helper()
	var out, errOut buffer
	code := Main(t.Context(), append([]string{"hash-password"}, args...), Streams{In: strings.NewReader(input), Out: &out, Err: &errOut})
	r := result{code, out.String(), errOut.String()}
	if strings.Contains(r.all(), canary) {
		t.Errorf("the password shows: %s", r.all())
	}
	return r
}

// TestHashPasswordMakesAUser: what is printed is a configuration, as it is.
func TestHashPasswordMakesAUser(t *testing.T) {
	for _, args := range [][]string{{"--name", `o"ps`, "--role", "admin"}, {"--bcrypt", "--name", `o"ps`, "--role", "admin"}} {
		r := hashOf(t, canary+"\n", args...)
		if r.code != exitOK || strings.Count(r.out, "\n") != 1 {
			t.Fatalf("%d %s %s", r.code, r.out, r.err)
		}
		file := tempFile(t, "fairlead.yaml", r.err)
		l, err := config.Load(config.Source{Path: file, Usual: []string{}})
		if err != nil || len(l.Warnings) != 0 {
			t.Fatalf("%v %v\n%s", err, l.Warnings, r.err)
		}
		u := l.Config.Admin.Users
		if len(u) != 1 || u[0].Name != `o"ps` || u[0].Role != api.RoleAdmin || u[0].PasswordHash.Reveal() != strings.TrimSpace(r.out) {
			t.Errorf("%+v", u)
		}
		if bcrypt := strings.HasPrefix(r.out, "$2a$12$"); bcrypt != (args[0] == "--bcrypt") || !bcrypt && !strings.HasPrefix(r.out, "$argon2id$") {
			t.Errorf("%v: %s", args, r.out)
		}
	}
}

func TestHashPasswordRefuses(t *testing.T) {
	for _, c := range []struct {
		input, says string
		args        []string
		code        int
	}{
		{"", "empty", nil, exitFailed},
		{"\n", "empty", nil, exitFailed},
		{canary + "\nmore\n", "more than one line", nil, exitFailed},
		{strings.Repeat("a", api.MaxPassword+1), "1024 at most", nil, exitFailed},
		{strings.Repeat("a", 73), "use argon2id", []string{"--bcrypt"}, exitFailed},
		{canary, "no role", []string{"--role", "root"}, exitUsage},
		{canary, "a colon", []string{"--name", "a:b"}, exitUsage},
		{canary, "there is no command", []string{canary[:1]}, exitUsage},
	} {
		if r := hashOf(t, c.input, c.args...); r.code != c.code || !strings.Contains(r.err, c.says) && c.says != "there is no command" || r.out != "" {
			t.Errorf("%.20q %v: %d %s", c.input, c.args, r.code, r.err)
		}
	}
	if _, err := lineOfInput(deafInput{}); err == nil {
		t.Error("a broken input is a password")
	}
}

type deafInput struct{}

func (deafInput) Read([]byte) (int, error) { return 0, os.ErrClosed }
