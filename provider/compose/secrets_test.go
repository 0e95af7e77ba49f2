package compose

import (
	"fmt"
	"os"
	"path/filepath"
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
		if err == nil && (len(s.Global) != 1 || s.Global[0].Code != "W133" || s.Global[0].Label != "sozune.http.app.auth.basic") {
			t.Errorf("%s: %+v", name, s.Global)
		}
		if err != nil && !strings.Contains(err.Error(), "app") {
			t.Errorf("%s: it does not say where: %v", name, err)
		}
	}
}
