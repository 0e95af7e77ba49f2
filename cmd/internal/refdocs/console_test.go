package refdocs

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead/cmd/internal/cli"
	"fairlead/deploy/console"
)

// asProgram makes this test binary the program, for pages that call it from a shell.
const asProgram = "TEST_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "1" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := cli.Main(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ()})
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// shell is the terminal of somebody who follows a page in a folder of their own.
type shell struct {
	t      *testing.T
	dir    string
	env    []string
	here   *strings.Replacer // what the page says -> what is so here
	output lockedBuffer      // of the demo
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newShell is a folder with bin/fairlead in it, which is also found by its name.
func newShell(t *testing.T) *shell {
	t.Helper()
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("FAIRLEAD_REQUIRE_DOCKER") == "1" {
			t.Fatal(err)
		} else if err != nil {
			t.Skipf("pages cannot be followed here: %v", err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, dir: t.TempDir(), here: strings.NewReplacer()}
	if err := os.Mkdir(filepath.Join(s.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(s.dir, "bin", "fairlead")); err != nil {
		t.Fatal(err)
	}
	s.env = append(os.Environ(), asProgram+"=1", "PATH="+filepath.Join(s.dir, "bin")+":"+os.Getenv("PATH"),
		"CONFIG_PATH=", "NO_COLOR=1", "COMPOSE_PROJECT_NAME=shop", "TMPDIR="+s.dir, "GOCOVERDIR="+t.TempDir(), "http_proxy=", "HTTP_PROXY=")
	return s
}

// demo starts the demo as the page does, on ports that are free, and waits for its welcome.
func (s *shell) demo() {
	s.t.Helper()
	cmd := exec.Command("bin/fairlead", "demo", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, s.env, &s.output, &s.output
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				s.t.Errorf("the demo ended with %v\n%s", err, s.output.String())
			}
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			s.t.Errorf("the demo does not end\n%s", s.output.String())
		}
	})
	var printed []string
	s.eventually("the demo's welcome", func() error {
		printed = regexp.MustCompile(`(?s)http://(\S+)/dashboard/.*shop\.localhost(:\d+)/.*export (FAIRLEAD_USER=\S+) (FAIRLEAD_PASSWORD=\S+)\n.* drain http_shop (\S+) .*The routes are in (\S+):`).FindStringSubmatch(s.output.String())
		if printed == nil {
			return fmt.Errorf("it printed\n%s", s.output.String())
		}
		return nil
	})
	s.eventually("the demo is ready", func() error {
		res, err := http.Get("http://" + printed[1] + "/ready")
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("/ready answers %d", res.StatusCode)
		}
		return nil
	})
	s.env = append(s.env, "FAIRLEAD_ADMIN=http://"+printed[1], printed[3], printed[4])
	s.here = strings.NewReplacer("127.0.0.1:8080", "127.0.0.1"+printed[2], ".localhost:8080", ".localhost"+printed[2],
		"127.0.0.1:3035", printed[1], "127.0.0.1:36353", printed[5], "/tmp/fairlead-demo-1344991927/entrypoints.yaml", printed[6])
}

// follow runs commands in order. One that shows something is repeated until it shows it.
func (s *shell) follow(steps []console.Step) {
	s.t.Helper()
	for _, step := range steps {
		if len(step.Want) == 0 {
			if out, err := s.run(step.Line); err != nil {
				s.t.Fatalf("%s: %v\n%s", step.Line, err, out)
			}
			continue
		}
		s.eventually(step.Line, func() error {
			out, _ := s.run(step.Line)
			return step.Check(out)
		})
	}
}

func (s *shell) run(line string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", s.here.Replace(line))
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *shell) eventually(what string, ok func() error) {
	s.t.Helper()
	for end := time.Now().Add(40 * time.Second); ; {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s: %v", what, err)
		}
		<-time.After(200 * time.Millisecond)
	}
}

// TestTutorialWithoutDocker follows the first half of the tutorial, and the README, with
// the program; deploy/e2e follows the second half.
func TestTutorialWithoutDocker(t *testing.T) {
	page, _, found := strings.Cut(read(t, "docs/tutorial/first-route.md"), "\n## With Docker\n")
	steps := console.Steps(page)
	if !found || len(steps) < 6 || steps[0].Line != "make demo" {
		t.Fatalf("the tutorial has the steps %+v", steps)
	}
	s := newShell(t)
	s.demo()
	if err := steps[0].Check(s.output.String()); err != nil {
		t.Error(err)
	}
	s.follow(steps[1:])
}

// TestPagesWithConsoleBlocks follows every other page that shows what is seen.
func TestPagesWithConsoleBlocks(t *testing.T) {
	var s *shell
	for _, page := range pages(t) {
		steps := console.Steps(read(t, page))
		if len(steps) == 0 || strings.HasPrefix(page, "docs/tutorial/") {
			continue
		}
		if s == nil {
			s = newShell(t)
			s.demo()
		}
		s.files(page)
		s.follow(steps)
	}
	if s == nil {
		t.Error("no page shows what is seen")
	}
}

// files writes those blocks of a page into the folder whose first line is their name.
func (s *shell) files(page string) {
	s.t.Helper()
	for _, language := range []string{"yaml", "sh"} {
		for _, block := range fenced(read(s.t, page), language) {
			name, ok := fileName(block)
			if !ok {
				continue
			}
			if err := os.WriteFile(filepath.Join(s.dir, name), []byte(block+"\n"), 0o700); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// fileName is the name in the first line of a block that is a file, which may have a
// remark behind it: "# compose.yaml: three mistakes".
func fileName(block string) (string, bool) {
	first, _, _ := strings.Cut(block, "\n")
	first, ok := strings.CutPrefix(first, "# ")
	name, _, _ := strings.Cut(first, ":")
	return name, ok && strings.Contains(name, ".") && !strings.ContainsAny(name, "/ ")
}
