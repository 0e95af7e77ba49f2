package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// shippedImage is what stands for fairlead:latest of the examples: the binary under test
// with what deploy/Dockerfile says about the image.
var shippedImage = strings.TrimSuffix(image, ":latest") + "-shipped:latest"

// instruction of the Dockerfile's last stage that docker import takes too.
var instruction = regexp.MustCompile(`(?m)^(?:EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD) .*$`)

// ship makes shippedImage on the shared engine, and removes it at the end of the test.
func ship(t *testing.T) {
	t.Helper()
	importImage(t, filepath.Dir(binary), shippedImage, shippedAs(t)...)
}

// shippedAs are the instructions for the image that the Dockerfile has.
func shippedAs(t *testing.T) []string {
	t.Helper()
	file, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, last, found := bytes.Cut(file, []byte("FROM scratch"))
	if !found {
		t.Fatal("deploy/Dockerfile does not end in an empty image any more")
	}
	changes := []string{"LABEL " + mark}
	for _, line := range instruction.FindAll(last, -1) {
		changes = append(changes, string(line))
	}
	if len(changes) != 5 {
		t.Fatalf("the Dockerfile's instructions are %q", changes)
	}
	return changes
}

// importImage makes an image of a directory's files. It is removed at the end of the test.
func importImage(t *testing.T, dir, tag string, changes ...string) {
	t.Helper()
	pack := exec.CommandContext(t.Context(), "tar", "-C", dir, "-c", ".")
	args := []string{"import"}
	for _, c := range changes {
		args = append(args, "-c", c)
	}
	load := exec.CommandContext(t.Context(), "docker", append(args, "-", tag)...)
	var err error
	if load.Stdin, err = pack.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := pack.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := load.CombinedOutput()
	if packed := pack.Wait(); err != nil || packed != nil {
		t.Fatalf("import %s: %v, tar %v\n%s", tag, err, packed, out)
	}
	t.Cleanup(func() { _, _ = docker("rmi", "-f", tag) })
}

// example is a directory of deploy/examples, started as its header says.
type example struct {
	*site
	name string
	dir  string
	env  []string
	// standIns are pairs of what the example says and what this machine has instead.
	standIns []string
}

// newExample prepares an example. more are settings of its environment; override is
// what a test replaces in the compose file: service -> key -> value. Images that cannot
// be pulled are replaced by ours.
func newExample(t *testing.T, name string, override map[string]map[string]any, more ...string) *example {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("../examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return exampleIn(t, dir, name, override, more...)
}

// exampleIn is newExample for the compose file of any directory.
func exampleIn(t *testing.T, dir, name string, override map[string]map[string]any, more ...string) *example {
	t.Helper()
	e := &example{
		site: &site{t: t, http: freePort(t), admin: freePort(t), log: &logBuffer{}, prefix: "sozune"},
		name: name, dir: dir,
	}
	file := e.overrides(override)
	e.env = append(os.Environ(),
		"COMPOSE_FILE="+filepath.Join(dir, "compose.yaml")+string(os.PathListSeparator)+file,
		"COMPOSE_PROJECT_NAME="+strings.ReplaceAll(mark, "=", "-")+"-"+name,
		"FAIRLEAD_HTTP_PORT="+port(e.http), "FAIRLEAD_ADMIN_PORT="+port(e.admin))
	e.env = append(e.env, more...)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := e.run("docker compose ps; docker compose logs --tail 60")
			t.Logf("%s:\n%s", name, tail(out, 12000))
		}
		if out, err := e.run("docker compose down -t 2 --remove-orphans"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return e
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// composeFile is what the tests read of one.
type composeFile struct {
	Services map[string]struct {
		Image string `yaml:"image"`
	} `yaml:"services"`
	Networks map[string]map[string]any `yaml:"networks"`
}

// overrides writes the file that adapts an example to the test.
func (e *example) overrides(wanted map[string]map[string]any) string {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.dir, "compose.yaml"))
	var file composeFile
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	key, value, _ := strings.Cut(mark, "=")
	labels := map[string]string{key: value}
	networks := map[string]map[string]any{"default": {"labels": labels}}
	for name, network := range file.Networks {
		networks[name] = map[string]any{"labels": labels}
		maps.Copy(networks[name], network) // docker-compose 1.29 replaces networks, it does not merge them
	}
	services := map[string]map[string]any{}
	for name, service := range file.Services {
		services[name] = map[string]any{"labels": labels}
		if service.Image == "fairlead:latest" {
			services[name]["image"] = shippedImage
		}
		maps.Copy(services[name], wanted[name])
	}
	data, err := json.Marshal(map[string]any{"services": services, "networks": networks})
	if err != nil {
		e.t.Fatal(err)
	}
	path := filepath.Join(e.t.TempDir(), "override.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		e.t.Fatal(err)
	}
	return path
}

// command is a line that a user is told to run, and the text that its output then has.
type command struct{ line, want string }

// commands are those of an indented or commented block: what follows two spaces and # is
// what the output holds.
func commands(text, indent string) []command {
	var list []command
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		rest, ok := strings.CutPrefix(line, indent)
		if !ok || fenced || strings.HasPrefix(rest, " ") {
			continue
		}
		line, want, _ := strings.Cut(rest, "  # ")
		list = append(list, command{strings.TrimSpace(line), strings.TrimSpace(want)})
	}
	return list
}

// header are the commands in the comment that begins the compose file.
func (e *example) header() []command {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.dir, "compose.yaml"))
	if err != nil {
		e.t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(text), "\nservices:")
	return commands(comment, "#   ")
}

// howto are the commands of a page of docs/howto.
func howto(t *testing.T, page string) []command {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/howto", page))
	if err != nil {
		t.Fatal(err)
	}
	list := commands(string(text), "    ")
	if len(list) < 2 {
		t.Fatalf("%s has the commands %v", page, list)
	}
	return list
}

var (
	// elsewhere are commands that no test can run: they need systemd, an image from a
	// registry, or stay in the foreground. cmd/internal/refdocs parses them.
	elsewhere  = regexp.MustCompile(`^(sudo |systemctl |podman build |fairlead serve )`)
	assignment = regexp.MustCompile(`^(?:export )?(\w+)=`)
)

// follow runs commands in order. One that shows something is repeated until it shows it.
func (e *example) follow(list []command) {
	e.t.Helper()
	for _, c := range list {
		c.want = e.local(c.want)
		switch variable := assignment.FindStringSubmatch(c.line); {
		case elsewhere.MatchString(c.line):
		case variable != nil:
			value := e.must(c.line + `; echo "$` + variable[1] + `"`)
			e.env = append(e.env, variable[1]+"="+strings.TrimSpace(value))
		case c.want == "":
			e.must(c.line)
		default:
			e.eventually(40*time.Second, c.line+" shows "+c.want, func() error {
				out, err := e.run(c.line)
				if err == nil && !strings.Contains(out, c.want) {
					err = fmt.Errorf("it shows\n%s", tail(out, 2000))
				}
				return err
			})
		}
	}
}

func (e *example) must(line string) string {
	e.t.Helper()
	out, err := e.run(line)
	if err != nil {
		e.t.Fatalf("%s: %v\n%s", line, err, tail(out, 4000))
	}
	return out
}

// run runs a line as a user of the example's directory would, with the ports and the
// Compose of this machine.
func (e *example) run(line string) (string, error) {
	tool := strings.Join(composeTool(), " ")
	line = e.local(strings.NewReplacer("docker compose exec", tool+" exec -T", "docker compose", tool).Replace(line))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.t.Context()), 2*time.Minute)
	defer cancel()
	args := slices.Concat(e.enter, []string{"sh", "-c", line})
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = e.dir, e.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// local puts what this machine has in the place of what the example says.
func (e *example) local(text string) string {
	pairs := append([]string{"127.0.0.1:8080", e.http, "127.0.0.1:3035", e.admin}, e.standIns...)
	return strings.NewReplacer(pairs...).Replace(text)
}

// container is the id of a service's only container.
func (e *example) container(service string) string {
	e.t.Helper()
	out, err := e.run("docker compose ps -q " + service)
	if err != nil || len(strings.Fields(out)) != 1 {
		e.t.Fatalf("containers of %s: %v\n%s", service, err, out)
	}
	return strings.TrimSpace(out)
}

// attachment reads a field of a container's place on one of the project's networks.
func (e *example) attachment(service, network, field string) string {
	e.t.Helper()
	format := fmt.Sprintf(`{{(index .NetworkSettings.Networks "%s_%s").%s}}`, e.project(), network, field)
	return e.docker("inspect", "-f", format, e.container(service))
}

// project is the name of the example's Compose project.
func (e *example) project() string {
	name := ""
	for _, setting := range e.env {
		if value, ok := strings.CutPrefix(setting, "COMPOSE_PROJECT_NAME="); ok {
			name = value
		}
	}
	return name
}

// changesArrive stops and starts a service, and waits until the router knows. A request
// in between would wait, for holdFor.
func (e *example) changesArrive(service, name string) {
	e.t.Helper()
	e.follow([]command{{"docker compose stop -t 2 " + service, ""}})
	e.eventually(5*time.Second, "the stop is known", func() error {
		out, _ := e.run("docker compose exec router /fairlead health http_" + name)
		if !strings.Contains(out, "retained") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	e.follow([]command{{"docker compose start " + service, ""}})
	e.waitFor(name+".localhost", 200, "Name: "+name)
}

// showcase runs the header of an example up to its end, and checks before the last
// command, which stops it.
func showcase(t *testing.T, e *example, check func()) {
	t.Helper()
	list := e.header()
	if len(list) < 3 || list[0].line != "docker compose up -d" || list[len(list)-1].line != "docker compose down" {
		t.Fatalf("the header of %s must start it, show that it works and stop it; it has %v", e.name, list)
	}
	e.follow(list[:len(list)-1])
	check()
	e.follow(list[len(list)-1:])
	if left := e.docker("ps", "-aq", "--filter", "label=com.docker.compose.project="+e.project()); left != "" {
		t.Errorf("%s leaves containers behind: %s", e.name, left)
	}
}
