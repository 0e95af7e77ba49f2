package whoami

import (
	"net"
	"strings"
	"testing"
	"time"
)

// TestHealthcheckSaysWhatHealthSays runs the check against a workload that flips.
func TestHealthcheckSaysWhatHealthSays(t *testing.T) {
	addr, stop := start(t, Config{Drain: time.Second})
	_, port, _ := net.SplitHostPort(addr)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	ask := func() (int, string) {
		var out strings.Builder
		return Main([]string{"healthcheck", "-port", port}, &out, &out, environment()), out.String()
	}
	if code, out := ask(); code != 0 || out != "200\n" {
		t.Errorf("healthy: %d %q", code, out)
	}
	call(t, "POST", "http://"+addr+"/health", "ok=0", form...)
	if code, out := ask(); code != 1 || out != "503\n" {
		t.Errorf("unhealthy: %d %q", code, out)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if code, out := ask(); code != 1 || !strings.Contains(out, "refused") {
		t.Errorf("stopped: %d %q", code, out)
	}
}
