package cli

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestWordsThatAreNoCommands are wrong usage wherever a command is named, and so that
// nobody keeps a help text for a completion script nothing is written to the output.
func TestWordsThatAreNoCommands(t *testing.T) {
	for args, want := range map[string]string{
		"nope": "see fairlead --help", "helth": "did you mean health?", "compl": "did you mean completion?",
		"route nope": "its commands are list, resolve", "route lsit": "did you mean list?",
		"completion nope": "its commands are bash, fish, powershell, zsh", "completion zhs": "did you mean zsh?", "completion bsah": "did you mean bash or zsh?",
		"help nope": "see fairlead --help", "help helth": "did you mean health?", "help route nope": "its commands are list, resolve", "help health x": "see fairlead health --help",
		"completion bash x": "see fairlead completion bash --help",
	} {
		r := (&world{t: t}).run(strings.Fields(args)...)
		if r.code != exitUsage || r.out != "" || !strings.HasPrefix(r.err, "error: ") || !strings.HasSuffix(r.err, "       "+want+"\n") {
			t.Errorf("%s: exit %d\n%s", args, r.code, r.all())
		}
	}
	for _, args := range []string{"", "help", "help health", "help route list", "help completion bash", "help help", "completion", "completion zsh", "route"} {
		if r := (&world{t: t}).run(strings.Fields(args)...); r.code != 0 || r.out == "" || r.err != "" {
			t.Errorf("%s: exit %d\n%s", args, r.code, r.all())
		}
	}
	if a, b := (&world{t: t}).run("help", "health"), (&world{t: t}).run("health", "--help"); a != b {
		t.Errorf("%s\n--help says\n%s", a.out, b.out)
	}
}

// TestHelpFitsATerminal: paragraphs and flags are broken to its lines; what is indented,
// as examples are, stays.
func TestHelpFitsATerminal(t *testing.T) {
	var check func(cmd *cobra.Command)
	root := Tree()
	fitHelp(root, style{width: 70, fits: true})
	check = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Long + "\n" + cmd.LocalFlags().FlagUsagesWrapped(70)) {
			if len([]rune(line)) > 71 && !strings.HasPrefix(line, " ") {
				t.Errorf("%s: %s", cmd.CommandPath(), line)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
	if !strings.Contains(root.UsageTemplate(), ".LocalFlags.FlagUsagesWrapped 70 ") || !strings.Contains(root.UsageTemplate(), ".InheritedFlags.FlagUsagesWrapped 70 ") {
		t.Error("flags are not broken")
	}
	if got := fitted("a b\nc\n\n  a b\nc\n\nd", 2); got != "a\nb\nc\n\n  a b\nc\n\nd" {
		t.Errorf("%q", got)
	}
}

// TestAddressOfTheDashboard: who pastes it from the browser is told which part to leave
// away, whatever such a page answers; a listener behind a prefix of that name works.
func TestAddressOfTheDashboard(t *testing.T) {
	pages := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/dashboard/dashboard"), !strings.HasPrefix(r.URL.Path, "/dashboard"):
			http.NotFound(rw, r)
		case r.Header.Get("Authorization") != "":
			http.Redirect(rw, r, "/dashboard/login", http.StatusSeeOther)
		default:
			_, _ = rw.Write([]byte("<!doctype html>"))
		}
	}))
	defer pages.Close()
	for _, path := range []string{"/dashboard", "/dashboard/", "/dashboard/entrypoints/http_a?q=x#y", "/ops/dashboard/health"} {
		for _, user := range []string{"", "ops"} {
			for _, args := range [][]string{{"health"}, {"events", "--since", "0"}, {"drain", "http_a"}} {
				w := &world{t: t, env: []string{"FAIRLEAD_USER=" + user, "FAIRLEAD_PASSWORD=x", "CONFIG_PATH=" + empty(t), "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false"}}
				r := w.run(append(args, "--admin", pages.URL+path)...)
				want := "--admin " + pages.URL + strings.TrimSuffix(strings.Split(path, "/dashboard")[0], "/") + "\n"
				if r.code != exitUnreachable || !strings.Contains(r.err, "leave ") || !strings.Contains(r.err, want) {
					t.Errorf("%v %s: exit %d\n%s", args, path, r.code, r.err)
				}
			}
		}
	}
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_PROVIDERS_FILE_PATH=" + tempFile(t, "routes.yaml", "entrypoints: []\n"), "FAIRLEAD_PROXY_HTTP_LISTEN=127.0.0.1:0", "FAIRLEAD_ADMIN_LISTEN=127.0.0.1:0"}}
	if r := w.run("doctor", "--admin", pages.URL+"/dashboard/"); r.code != exitFailed || !strings.Contains(r.out, "/dashboard is an address of the dashboard\n      fix: leave the end away: "+pages.URL+"\n") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	live := liveWorld(t, view(t, someVerdicts()))
	admin := strings.TrimPrefix(live.env[0], "FAIRLEAD_ADMIN=")
	behind := httptest.NewServer(http.StripPrefix("/dashboard", proxyTo(t, admin)))
	defer behind.Close()
	if r := live.run("health", "--admin", behind.URL+"/dashboard/"); r.code != exitDown {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

func proxyTo(t *testing.T, address string) http.Handler {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return httputil.NewSingleHostReverseProxy(target)
}
