package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const composeShop = `name: shop
services:
  web:
    image: shop
    labels: {sozune.enable: "true", sozune.http.web.host: "${SHOP_HOST:-shop.localhost}", sozune.http.web.port: "80"}
`

// TestValidateComposeFiles: one project, its override, two projects side by side, and
// the exit codes that a pipeline reads.
func TestValidateComposeFiles(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	shop := tempFile(t, "compose.yaml", composeShop)
	override := tempFile(t, "override.yaml", "services:\n  web:\n    labels: {sozune.http.web.port: http}\n")
	blog := tempFile(t, "blog.yaml", "name: blog\nservices:\n  web:\n    image: blog\n    labels: {sozune.http.web.host: blog.localhost}\n")
	noted := tempFile(t, "noted.yaml", strings.Replace(composeShop, "}\n", ", sozune.http.web.healthCheck.type: http}\n", 1))
	broken := tempFile(t, "broken.yaml", "services:\n  web:\n    imgae: x\n")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"right", []string{"-f", shop}, 0, []string{"http_web", "shop.localhost", "web:80", "1 entrypoint, 0 candidates not routed; 0 errors, 0 warnings"}},
		{"notes folded", []string{"-f", noted}, 0, []string{"0 warnings, 2 notes (--severity info shows them).\n"}},
		{"notes shown", []string{"--severity", "info", "-f", noted}, 0, []string{"I001", "0 warnings, 2 notes.\n"}},
		{"notes for programs", []string{"--json", "-f", noted}, 0, []string{"I001", `"infos": 2`}},
		{"override", []string{"-f", shop, "-f", override}, 0, []string{"W001", "1 warning"}},
		{"two projects", []string{shop, blog}, 1, []string{"Not routed", "blog-web-1", "E001", "1 error"}},
		{"json", []string{"--json", "-f", shop}, 0, []string{`"errors": 0`, `"web:80"`}},
		{"refused by compose", []string{"-f", broken}, 1, []string{"not a valid compose file", "imgae"}},
		{"missing", []string{shop + ".none"}, 4, []string{"no such file"}},
		{"an override that is missing", []string{"-f", shop, "-f", shop + ".none"}, 4, []string{"no such file"}},
	} {
		r := w.run(append([]string{"validate"}, tt.args...)...)
		if r.code != tt.code {
			t.Errorf("%s: exit %d, want %d\n%s", tt.name, r.code, tt.code, r.all())
		}
		for _, text := range tt.want {
			if !strings.Contains(r.all(), text) {
				t.Errorf("%s: no %q in\n%s", tt.name, text, r.all())
			}
		}
	}
	if r := w.run("route", "resolve", "--offline", "-f", shop, "http://shop.localhost/"); r.code != 2 || !strings.Contains(r.out, "http_web") {
		t.Errorf("resolve: exit %d\n%s", r.code, r.all())
	}
	routes := tempFile(t, "routes.yaml", "entrypoints:\n  - {name: db, protocol: Ftp, config: {hostnames: [blog.localhost]}}\n")
	for file, want := range map[string]string{
		blog:   "container blog-web-1 declares this host and is not routed: E001, add the label sozune.enable=true",
		routes: `entry "db" of the file declares this host and is not routed: W012, write Http, Tcp or Udp`,
	} {
		if r := w.run("route", "resolve", "--offline", "-f", file, "http://blog.localhost/"); r.code != 1 || !strings.Contains(r.out, want) {
			t.Errorf("resolve: exit %d\n%s", r.code, r.all())
		}
	}
}

// TestFilesThatCannotBeRead: what is said is about the file that was named, not about
// settings that nobody made.
func TestFilesThatCannotBeRead(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	folder := t.TempDir()
	for _, args := range [][]string{{"validate", "-f", folder + "/none.yaml"}, {"validate", folder + "/none.yaml"}, {"route", "resolve", "--offline", "-f", folder + "/none.yaml", "http://a/"}} {
		r := w.run(args...)
		if !strings.Contains(r.err, "no such file: "+folder+"/none.yaml") || strings.Contains(r.all(), "providers.file") || r.code != 4 && args[0] == "validate" {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.all())
		}
	}
	if r := w.run("validate", "-f", folder); r.code != 4 || !strings.Contains(r.err, "a directory, not a file: "+folder) {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

// TestComposeFileOnStandardInput, alone, as an override, and refused.
func TestComposeFileOnStandardInput(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}, in: composeShop}
	for _, args := range [][]string{{"-f", "-"}, {"-"}} {
		if r := w.run(append([]string{"validate"}, args...)...); r.code != 0 || !strings.Contains(r.out, "shop.localhost") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.all())
		}
	}
	if r := w.run("route", "resolve", "--offline", "-f", "-", "http://shop.localhost/"); r.code != 2 || !strings.Contains(r.out, "http_web") {
		t.Errorf("resolve: exit %d\n%s", r.code, r.all())
	}
	shop := tempFile(t, "compose.yaml", composeShop)
	w.in = "services:\n  web:\n    labels: {sozune.http.web.host: override.localhost}\n"
	if r := w.run("validate", "-f", shop, "-f", "-"); r.code != 0 || !strings.Contains(r.out, "override.localhost") {
		t.Errorf("an override: exit %d\n%s", r.code, r.all())
	}
	w.in = "services:\n  web:\n    imgae: " + canary + "\n"
	if r := w.run("validate", "-f", "-"); r.code != 1 || !strings.Contains(r.err, "standard input: services.web: unknown key imgae") {
		t.Errorf("refused: exit %d\n%s", r.code, r.all())
	}
}

// TestEnvFileBesideTheComposeFile is read from anywhere, also for a file that is named
// without -f, and a mistake in it shows nothing of it.
func TestEnvFileBesideTheComposeFile(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("compose.yaml", strings.Replace(composeShop, "${SHOP_HOST:-shop.localhost}", "${SHOP_HOST}", 1))
	write(".env", "SHOP_HOST=env.localhost\n")
	t.Chdir(folder)
	for _, args := range [][]string{{"-f", folder + "/compose.yaml"}, {folder + "/compose.yaml"}, {"-f", "compose.yaml"}, {"compose.yaml"}, {"-f", "./compose.yaml"}} {
		if r := w.run(append([]string{"validate"}, args...)...); r.code != 0 || !strings.Contains(r.out, "env.localhost") || strings.Contains(r.out, "W133") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.all())
		}
	}
	write(".env", "SHOP_HOST=env.localhost\nPASSWORD=\""+canary+"\n")
	if r := w.run("validate", "compose.yaml"); r.code != 1 || !strings.Contains(r.err, ".env: line ") {
		t.Errorf("broken: exit %d\n%s", r.code, r.all())
	}
}

// TestTwoStacksThatShareARoute are told without a wish for notes, and are no error.
func TestTwoStacksThatShareARoute(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	a := tempFile(t, "compose.yaml", composeShop)
	b := tempFile(t, "compose.yaml", strings.Replace(composeShop, "name: shop", "name: blog", 1))
	if r := w.run("validate", a, b); r.code != 0 || !strings.Contains(r.out, "W134") || !strings.Contains(r.out, "1 entrypoint, 0 candidates not routed; 0 errors, 1 warning") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}
