package config

import (
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead/api"
	"fairlead/router/route"
)

var update = flag.Bool("update", false, "write the golden files")

// hash is one of a password, with the usual parameters.
const hash = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"

// comparePrefix lets cmp compare addresses.
var comparePrefix = cmp.Options{
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmpopts.EquateEmpty(),
}

// load reads without the files that may lie about on this machine.
func load(t *testing.T, s Source) Loaded {
	t.Helper()
	l, err := loadErr(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func loadErr(s Source) (Loaded, error) {
	if s.Usual == nil {
		s.Usual = []string{}
	}
	return Load(s)
}

func TestNothingGivenIsTheDefaults(t *testing.T) {
	l := load(t, Source{})
	if diff := cmp.Diff(Default(), l.Config, comparePrefix); diff != "" {
		t.Error(diff)
	}
	if l.File != "" || len(l.Warnings) != 0 {
		t.Errorf("file %q, warnings %v", l.File, l.Warnings)
	}
	for _, name := range []string{"empty", "comments", "empty-sections"} {
		l := load(t, Source{Path: "testdata/good/" + name + ".yaml"})
		if diff := cmp.Diff(Default(), l.Config, comparePrefix); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEverySettingFromAFile(t *testing.T) {
	l := load(t, Source{Path: "testdata/good/full.yaml"})
	want := Config{
		Labels: Labels{Prefix: "edge", ExposeByDefault: true},
		Providers: Providers{
			Docker: Docker{Enabled: true, Endpoint: "tcp://socket-proxy:2375", CertPath: "/certs", TLSVerify: true, RetainSeconds: 5, DefaultNetwork: "web"},
			File:   File{Path: "/etc/fairlead/routes.yaml"},
		},
		Proxy: Proxy{
			HTTP: HTTP{Listen: "127.0.0.1:8080", ReusePort: true},
			TrustedProxies: []netip.Prefix{
				netip.MustParsePrefix("192.168.10.0/24"), netip.MustParsePrefix("10.1.2.3/32"), netip.MustParsePrefix("fd00::/8"),
			},
			Timeouts: Timeouts{
				Header: 5 * time.Second, BodyIdle: 30 * time.Second, Idle: 30 * time.Second, BackendIdle: 2 * time.Second, Continue: 500 * time.Millisecond,
			},
			Limits: Limits{RequestLineBytes: 4096, HeaderBytes: 8192, ResponseHeaderBytes: 16384, Streams: 10},
		},
		ShutdownDelay: time.Second, ShutdownTimeout: 25 * time.Second,
		HealthCheck: HealthCheck{
			Tick: 500 * time.Millisecond, Concurrency: 8, PerHost: 2, StartupSpread: 2 * time.Second, AllowLoopback: true, AllowLinkLocal: true,
		},
		Strict: true, Sticky: Sticky{Key: "0123456789abcdef"},
		Certificates: Certificates{
			Authorities: map[string]string{"internal": "/certs/internal.pem"},
			Clients:     map[string]string{"edge": "/certs/edge.pem", "shop": "/certs/shop.pem /certs/shop-key.pem"},
		},
		Notify: Notify{Webhook: Webhook{URL: "https://hooks.example.com/T0/c4nary", Secret: "c4nary", Level: "warn", Timeout: time.Second, Queue: 5}},
		Admin: Admin{Listen: "[::1]:3035", Hosts: []string{"router.lan"}, Verbose: true, Readiness: "any", StateFile: "/var/lib/fairlead/state.json", Anonymous: "read-only", Users: []api.User{
			{Name: "ops", PasswordHash: hash, Role: api.RoleAdmin}, {Name: "watch", PasswordHash: hash, Role: api.RoleReadOnly},
		}},
		Metrics: Metrics{Listen: "127.0.0.1:9100"},
		Log: Log{
			Level: "debug", Format: "json", Levels: map[string]string{"healthcheck": "trace", "proxy": "warn"},
			Access: Access{Path: "/var/log/access.log", Query: "drop", Sample: 10, MaxSizeMB: 50, Keep: 2},
		},
	}
	if diff := cmp.Diff(want, l.Config, comparePrefix); diff != "" {
		t.Error(diff)
	}
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "stop_grace_period") {
		t.Errorf("a stop of 26 s warns about Docker's 10 s: %v", l.Warnings)
	}
	// Every setting differs from its default, so that a new one cannot be forgotten here.
	c, d := l.Config, Default()
	for i, l := range leaves(&c) {
		if path := l.path; show(l.value) == show(leaves(&d)[i].value) && path != "providers.docker.enabled" {
			t.Errorf("testdata/good/full.yaml does not set %s", path)
		}
	}
}

func TestMistakesInAFile(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := loadErr(Source{Path: file})
			if err == nil {
				t.Fatal("no error")
			}
			if AsProblems(err) == nil {
				t.Errorf("%T is not Problems", err)
			}
			if strings.Contains(err.Error(), "c4nary") {
				t.Errorf("what may be a secret shows: %v", err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it): %s", file, diff)
	}
}

func TestOrderOfSources(t *testing.T) {
	file := write(t, "proxy: {http: {listen: ':1'}}\n")
	env := "FAIRLEAD_PROXY_HTTP_LISTEN=:2"
	flags := map[string]Flag{"proxy.http.listen": {"--http", ":3"}}
	for _, c := range []struct {
		name string
		s    Source
		want string
	}{
		{"default", Source{}, ":80"},
		{"file", Source{Path: file}, ":1"},
		{"CONFIG_PATH", Source{Env: []string{"CONFIG_PATH=" + file}}, ":1"},
		{"usual file", Source{Usual: []string{"/nonexistent/fairlead.yaml", file}}, ":1"},
		{"environment over file", Source{Path: file, Env: []string{env}}, ":2"},
		{"flag over all", Source{Path: file, Env: []string{env}, Flags: flags}, ":3"},
		{"the last one of two variables", Source{Env: []string{env, "FAIRLEAD_PROXY_HTTP_LISTEN=:4"}}, ":4"},
		{"--config over CONFIG_PATH", Source{Path: file, Env: []string{"CONFIG_PATH=/nonexistent"}}, ":1"},
		{"an empty flag counts", Source{Path: file, Flags: map[string]Flag{"proxy.http.listen": {"--http", ""}}}, ""},
	} {
		if got := load(t, c.s).Config.Proxy.HTTP.Listen; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fairlead.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for name, s := range map[string]Source{
		"the file of --config":    {Path: filepath.Join(dir, "none.yaml")},
		"the file of CONFIG_PATH": {Env: []string{"CONFIG_PATH=" + dir}},
		"the configuration file":  {Usual: []string{dir}},
	} {
		if _, err := loadErr(s); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	big := write(t, "# "+strings.Repeat("x", maxFileBytes))
	if _, err := loadErr(Source{Path: big}); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a file that is too large: %v", err)
	}
}

func TestListenersSideBySide(t *testing.T) {
	for _, c := range []struct {
		http, admin string
		clash       bool
	}{
		{":80", "127.0.0.1:3035", false},
		{":80", "127.0.0.1:80", true},
		{"127.0.0.1:80", "0.0.0.0:80", true},
		{"127.0.0.1:80", "127.0.0.2:80", false},
		{"127.0.0.1:0", "127.0.0.1:0", false},
		{"localhost:80", "127.0.0.1:80", false}, // what the name means is not known here
		{"", "127.0.0.1:80", false},
	} {
		_, err := loadErr(Source{Env: []string{"FAIRLEAD_PROXY_HTTP_LISTEN=" + c.http, "FAIRLEAD_ADMIN_LISTEN=" + c.admin}})
		if (err != nil) != c.clash {
			t.Errorf("%s and %s: %v", c.http, c.admin, err)
		}
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	keys := Keys()
	if len(keys) < 30 {
		t.Fatalf("only %d keys", len(keys))
	}
	seen := map[string]bool{}
	for _, k := range keys {
		if k.Doc == "" || !strings.HasSuffix(k.Doc, ".") || k.Type == "" || seen[k.Env] || k.Env != strings.ToUpper(k.Env) {
			t.Errorf("%+v", k)
		}
		seen[k.Env] = true
		if _, later := notYet(k.Path); later {
			t.Errorf("%s is a setting and said to come later", k.Path)
		}
		if k.Default == "" {
			continue
		}
		// A default can be given as it is shown.
		c := Default()
		i := slices.IndexFunc(leaves(&c), func(l leaf) bool { return l.path == k.Path })
		l := leaves(&c)[i]
		if err := l.setText(k.Default); err != nil || show(l.value) != k.Default {
			t.Errorf("%s: %v, shown as %s", k.Path, err, show(l.value))
		}
	}
	if k := keys[slices.IndexFunc(keys, func(k Key) bool { return k.Path == "log.level" })]; k.Range != "trace, debug, info, warn, error or off" {
		t.Errorf("%+v", k)
	}
	for _, name := range Components() {
		doc := keys[slices.IndexFunc(keys, func(k Key) bool { return k.Path == "log.levels" })].Doc
		if !strings.Contains(doc, name) {
			t.Errorf("log.levels does not name %s", name)
		}
	}
}

func TestNearest(t *testing.T) {
	for text, want := range map[string]string{
		"listn": "listen", "LISTEN": "listen", "lsiten": "listen", "xyz": "", "": "", "prefixes": "prefix", "expose": "exposeByDefault",
		"exposebydefualt": "exposeByDefault", strings.Repeat("x", 200): "",
	} {
		if got := nearest(text, []string{"listen", "exposeByDefault", "prefix"}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestProblemsAreErrors(t *testing.T) {
	if AsProblems(errors.New("other")) != nil {
		t.Error("another error is no list of problems")
	}
	if got := (Problem{Message: "m", Fix: "f"}).Error(); got != "m: f" {
		t.Error(got)
	}
}

func FuzzConfig(f *testing.F) {
	for _, pattern := range []string{"testdata/errors/*.yaml", "testdata/good/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte("a: &a [*a]\nlabels: *a\n"))
	f.Add([]byte("admin: {hosts: !!str x, listen: |\n  :80\n  }"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := newReader()
		r.readFile("f.yaml", text)
		if len(r.problems) > 0 {
			for _, p := range r.problems {
				if p.Where == "" || p.Message == "" {
					t.Errorf("a problem without place or message: %+v", p)
				}
			}
			return
		}
		r.check()
		if len(r.problems) > 0 {
			return
		}
		// What is valid can be written as variables and read again.
		var env []string
		for _, l := range leaves(&r.config) {
			text := show(l.value)
			if s, ok := reflect.TypeAssert[route.Secret](l.value); ok {
				text = s.Reveal()
			}
			if strings.ContainsAny(text, "\n\x00") || l.kind() == "list" || l.kind() == "table" || l.kind() == "users" || text != strings.TrimSpace(text) {
				return
			}
			env = append(env, l.env()+"="+text)
		}
		again, err := Load(Source{Env: env, Usual: []string{}})
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(env, "\n"))
		}
		if diff := cmp.Diff(r.config, again.Config, comparePrefix); diff != "" {
			t.Error(diff)
		}
	})
}
