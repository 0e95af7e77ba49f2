package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead/provider/label"
)

// TestNothingQuotesAValue: what compose makes of a $ in a password, or of a value that it
// refuses, shows where it stands and not what it is.
func TestNothingQuotesAValue(t *testing.T) {
	const canary = "s3cretCANARY"
	for name, lines := range map[string]string{
		"a bcrypt hash":            "labels:\n      sozune.enable: \"true\"\n      sozune.http.app.auth.basic: \"admin:$2y$05$" + canary + "\"",
		"an argon2id hash":         "labels:\n      - sozune.enable=true\n      - \"sozune.http.app.auth.basic=admin:$argon2id$v=19$m=65536,t=3,p=4$c2Fsd$" + canary + "\"",
		"an unfinished variable":   "labels:\n      sozune.enable: \"true\"\n      sozune.http.app.headers.X-Key: \"" + canary + "-${\"",
		"one of nobody's business": "environment:\n      DB_PASSWORD: \"" + canary + "-${\"",
		"a value of another type":  "read_only: " + canary,
		"a name with a password":   "labels:\n      - sozune.enable=true\n      - \"sozune.http.app.auth.basic: admin:" + canary + "=$x\"",
		"another one's name":       "labels:\n      - \"other.basicauth: admin:" + canary + "=$x\"",
		"a number":                 "scale: " + canary,
		"a duration":               "stop_grace_period: " + canary,
	} {
		path := filepath.Join(t.TempDir(), "compose.yaml")
		if err := os.WriteFile(path, []byte("services:\n  app:\n    image: x\n    "+lines+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := New(Config{Projects: [][]string{{path}}, Label: label.Config{Prefix: "sozune"}}).Collect(t.Context())
		if text := fmt.Sprintf("%v %+v", err, s); strings.Contains(text, canary) {
			t.Errorf("%s: %s", name, text)
		}
		if err == nil && (len(s.Global) != 1 || s.Global[0].Code != "W133" || !slices.Contains([]string{"sozune.http.app.auth.basic", "sozune.http.app.auth.basic: ***", "other.basicauth: ***"}, s.Global[0].Label)) {
			t.Errorf("%s: %+v", name, s.Global)
		}
		if err != nil && !strings.Contains(err.Error(), "app") {
			t.Errorf("%s: it does not say where: %v", name, err)
		}
	}
}

// TestRefusalsByKind: what compose refuses is told with its place and what was expected
// there, by the kind of the mistake; a text of compose that is not known shows nothing.
func TestRefusalsByKind(t *testing.T) {
	const canary = "s3cretCANARY"
	one := func(key string) string { return "services:\n  a:\n    image: x\n    " + key + "\n" }
	for _, tt := range []struct{ file, want string }{
		{one("foo: CANARY"), "services.a: unknown key foo"},
		{"nonsense: CANARY\nservices: {a: {image: x}}\n", "unknown key nonsense"},
		{one("healthcheck: {tset: CANARY}"), "services.a.healthcheck: unknown key tset"},
		{"secrets: {s: {nonsense: CANARY}}\n" + one("init: true"), "secrets.s: unknown key nonsense"},
		{one("image: CANARY"), "line 4: the key image stands on line 3 already"},
		{one("ports: ['CANARY:80']"), "ports: the port on the host"},
		{one("ports: ['80:CANARY']"), "ports: the port of the container"},
		{one("ports: [CANARY]"), "ports: the port of the container"},
		{one("ports: ['CANARY:1:1:1:80']"), "ports: the address is no IP address"},
		{one("ports: ['80/CANARY']"), "ports: the protocol"},
		{one("ports: [{target: CANARY}]"), "services.a.ports.[].target: not a whole number"},
		{one("volumes: ['CANARY:/a:zzz:qq']"), "volumes: too many colons"},
		{one("volumes: ['CANARY::/a']"), "volumes: empty section between colons"},
		{one("volumes: ['CANARY:/a']"), `service "a" refers to undefined volume`},
		{one("volumes: [{type: CANARY}]"), "services.a.volumes.[0]: lacks a target"},
		{one("devices: ['CANARY:a:b:c:d']"), "devices: not host:container:permissions"},
		{one("mem_limit: CANARY"), "services.a.mem_limit: not a size"},
		{one("deploy: {resources: {limits: {memory: CANARY}}}"), "services.a.deploy.resources.limits.memory: not a size"},
		{one("extra_hosts: [CANARY]"), "services.a.extra_hosts: not host:address"},
		{one("healthcheck: {interval: CANARY}"), "services.a.healthcheck.interval: not a duration"},
		{one("blkio_config: {weight: CANARY}"), "services.a.blkio_config.weight: not of the type uint16"},
		{one("scale: CANARY"), "services.a.scale: not a whole number"},
		{one("cpus: CANARY"), "services.a.cpus: not a number"},
		{one("read_only: CANARY"), "services.a.read_only: neither true nor false"},
		{one("command: CANARY${"), "services.a.command: a $ begins no variable"},
		{one("command: '${X:?CANARY}'\n    user: '${Y:?CANARY}'"), "services.a.command: the variable X must be set, and is not; services.a.user: the variable Y"},
		{one("pull_policy: CANARY"), "services.a.pull_policy: the value does not match"},
		{one("gpus: CANARY"), "services.a.gpus: the value must be 'all'"},
		{one("image: [CANARY]\n    init: true") + "    x: y", "line 4: the key image"},
		{one("entrypoint: {CANARY: x}"), "services.a.entrypoint must be"},
		{one("labels: {a: [CANARY]}"), "services.a.labels.a must be a boolean, null, number or string"},
		{one("labels: [a=b, {sozune.http.a.auth.basic: CANARY}]"), `services.a.labels.[1]: the label is written "name: value" where "name=value" is needed`},
		{one("labels: *CANARY"), "line 4: an alias (*)"},
		{one("user: CANARY: y"), "line 4, column 23: mapping values are not allowed in this context"},
		{one("user: 'CANARY"), "found unexpected end of stream"},
		{one("networks: [edge]"), `service "a" refers to undefined network edge`},
		{one("depends_on: [db]"), `service "a" depends on undefined service "db"`},
		{one("network_mode: host\n    networks: [edge]") + "networks: {edge: {}}", "network_mode"},
		{one("extends: db"), `service "db" not found`},
		{"services: {a: {}}\n", "neither an image nor a build context"},
		{"services: {a: CANARY}\n", "services.a must be a mapping"},
		{"", "empty compose file"},
		{one("init: true") + "--- CANARY\n", "top-level object must be a mapping"},
		{one("label_file: none.labels"), "none.labels not found"},
		{"include: [none.yaml]\n", "none.yaml: no such file or directory"},
	} {
		folder := folderOf(t, map[string]string{"compose.yaml": strings.ReplaceAll(tt.file, "CANARY", canary)})
		_, err := collect(t, folder, nil, "compose.yaml")
		if err == nil || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(canary)) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\n%v\nwant %q", tt.file, err, tt.want)
		}
	}
	if text := redacted(fmt.Errorf("a new word of compose: %s", canary)).Error(); strings.Contains(text, canary) {
		t.Error(text)
	}
}
