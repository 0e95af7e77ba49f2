package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	required := os.Getenv("FAIRLEAD_REQUIRE_DOCKER") == "1"
	if testing.Short() {
		fmt.Println("e2e: skipped: -short")
		return 0
	}
	if out, err := exec.Command("docker", "info").CombinedOutput(); err != nil {
		fmt.Printf("e2e: no Docker engine answers: %v\n%s\n", err, lastLine(string(out)))
		if required {
			return 1
		}
		fmt.Println("e2e: skipped")
		return 0
	}
	dir, err := os.MkdirTemp("", "fairlead-e2e-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "fairlead")
	if err := buildImage(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	cleanUp()
	defer func() { _, _ = docker("rmi", "-f", image) }() // runs after cleanUp: containers hold the image
	defer cleanUp()
	return m.Run()
}

// buildImage builds the binary and imports it as the workload's image.
func buildImage(dir string) error {
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "fairlead/cmd/fairlead")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	tar := exec.Command("sh", "-c", "tar -C "+dir+" -c fairlead | docker import -c 'ENTRYPOINT [\"/fairlead\"]' -c 'LABEL "+mark+"' - "+image)
	if out, err := tar.CombinedOutput(); err != nil {
		return fmt.Errorf("import: %w\n%s", err, out)
	}
	return nil
}

// cleanUp removes what this run, or one that was interrupted, left behind.
func cleanUp() {
	format := "{{.ID}} {{.Label \"" + markKey + "\"}}"
	if list, err := docker("ps", "-a", "--filter", "label="+markKey, "--format", format); err == nil {
		for _, id := range abandoned(list) {
			_, _ = docker("rm", "-f", id)
		}
	}
	if list, err := docker("network", "ls", "--filter", "label="+markKey, "--format", format); err == nil {
		for _, id := range abandoned(list) {
			_, _ = docker("network", "rm", id)
		}
	}
	if list, err := docker("images", "--filter", "label="+markKey, "--format", "{{.Repository}}"); err == nil {
		for name := range strings.FieldsSeq(list) {
			owner, ours := strings.CutPrefix(name, markKey+"-")
			owner, _, _ = strings.Cut(owner, "-") // a run has several images
			if ours && name+":latest" != image && len(abandoned(name+" "+owner)) > 0 {
				_, _ = docker("rmi", "-f", name+":latest")
			}
		}
	}
}

// abandoned are the ids in lines of "id process" whose process is this one, or is gone.
func abandoned(list string) []string {
	var ids []string
	for line := range strings.Lines(list) {
		id, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(owner)
		if id != "" && (err != nil || pid == os.Getpid() || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)) {
			ids = append(ids, id)
		}
	}
	return ids
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// docker runs the Docker CLI and returns its trimmed output.
func docker(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return strings.TrimSpace(out.String()), nil
}

func mustDocker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := docker(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// docker runs the Docker CLI against the site's engine.
func (s *site) docker(args ...string) string {
	s.t.Helper()
	return mustDocker(s.t, slices.Concat(s.engine, args)...)
}

// run creates and starts a container.
func (s *site) run(name string, labels []string, args ...string) string {
	s.t.Helper()
	id := s.create(name, labels, args...)
	s.docker("start", id)
	return id
}

// network makes a network for this test.
func (s *site) network(name string, flags ...string) string {
	s.t.Helper()
	full := s.prefix + "-" + name
	mustDocker(s.t, append(append([]string{"network", "create", "--label", mark}, flags...), full)...)
	s.t.Cleanup(func() { _, _ = docker("network", "rm", full) })
	return full
}
