package cli

import (
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
}
