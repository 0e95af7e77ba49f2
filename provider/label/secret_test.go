package label

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

const canary = "c4n4ry"

// secretValues are ways in which a secret gets into a label, right and wrong.
var secretValues = []string{
	canary, "user:" + canary, "Bearer " + canary, "http://u:" + canary + "@auth/verify", "https://auth/?token=" + canary,
	"http://u:" + canary + "?x@auth/", "http://u:pa/" + canary + "@auth/", "/health?token=" + canary, "/health?a=b@" + canary + "#x",
	"X-Token:" + canary + ",X-B", "token:" + canary, "alice:$2y$05$" + canary, canary + "\r\nX: y", canary + "\x00", "//u:" + canary + "@h/",
	strings.Repeat(canary, 20_000),
}

// TestSecretsNeverShow puts a canary into every key that may hold a secret, and
// into every unknown one.
func TestSecretsNeverShow(t *testing.T) {
	var keys []string
	for _, k := range Keys() {
		if slices.Contains(k.Protocols, route.HTTP) && (k.Secret || k.Query) {
			keys = append(keys, writing.Replace(k.Name))
		}
	}
	for _, must := range []string{"auth.basic", "headers.X-Sample", "healthCheck.headers.X-Sample", "forwardAuth.address", "matchQuery", "matchHeaders", "healthCheck.path", "plugins.p.k"} {
		if !slices.Contains(keys, must) {
			t.Errorf("%s is not marked as secret", must)
		}
	}
	keys = append(keys, "auth.basci", "headrs.X-A", "nonsense", "forwardAuth.address", "auth", "healthCheck.headers.Host", "healthCheck.headers.Connection", "headers.Host")
	for _, key := range keys {
		for _, v := range secretValues {
			k, _ := catalog.find(route.HTTP, key)
			if k != nil && k.Query && k.Kind != KindURL && !strings.ContainsAny(v, "@?#") {
				continue // a path or a host is no secret, only what stands in its query
			}
			labels := map[string]string{"sozune.enable": "true", "sozune.http.web.host": "a.b", "sozune.http.web." + key: v, "sozune.htpp.web." + key: v, "sozune.http.Web." + key: v}
			labels["sozune.http.web.HEALTHcheck"] = "true"
			p := parseLabels(t, labels)
			encoded, err := json.Marshal([]any{p.Diagnostics, p.Rejected})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(encoded), canary) {
				t.Errorf("%s=%.60q shows in %s", key, v, encoded)
			}
			for _, d := range p.Declarations {
				if set := fmt.Sprint(d.Set); strings.Contains(set, canary) {
					t.Errorf("%s=%.60q shows in Set: %.200s", key, v, set)
				}
			}
		}
	}
}

// TestSecretsNeverShowInGroups: what Group says about keys names them alone.
func TestSecretsNeverShowInGroups(t *testing.T) {
	b := newBench(t)
	b.run("c1", "shop", "web", map[string]string{"headers.X-A": canary + "1", "auth.basic": canary + "1"})
	b.run("c2", "shop", "web", map[string]string{"headers.X-A": canary + "2"}, age(time.Hour))
	b.run("c3", "blog", "web", map[string]string{"headers.X-A": canary + "3", "auth.basic": canary, "matchQuery": ""}, age(2*time.Hour))
	out := b.group(nil)
	for _, e := range out.Entrypoints {
		if text := fmt.Sprint(e.Diagnostics); strings.Contains(text, canary) || !strings.Contains(text, "headers.x-a") {
			t.Errorf("%s: %s", e.ID, text)
		}
	}
}

func TestRedactURL(t *testing.T) {
	for in, want := range map[string]string{
		"/health": "/health", "/h?a=b": "/h?***", "/h#a": "/h#***", "http://u:p@h/x": "***@h/x", "http://u:p@h/x?y=z": "***",
		"u:p@h": "***@h", "a@b@c": "***@c", "": "",
	} {
		if got := redactURL(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{
		"plain ä": "plain ä", "a\x00\n\x7f": `a\x00\x0a\x7f`, "\xff\xfe": `\xff\xfe`, "\u202e": `\u{202e}`, "\uFFFD": "\uFFFD",
		"123456789": "12345678… (9 bytes)", "": "",
	} {
		if got := shorten(in, 8); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
