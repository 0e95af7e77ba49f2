package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
)

// explain turns an error of a call into words for people. dial is the connection's
// last dial error, which the client hides; it may be nil. Errors that are classified
// already and the end of the context pass as they are.
func explain(err error, dial *net.OpError, ep endpoint, call, api string) error {
	var known *EngineError
	switch {
	case err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled):
		return err
	case errdefs.IsNotFound(err) && call == callInspect && noSuchContainer(err):
		return errNotFound
	case errdefs.IsPermissionDenied(err):
		return problem(errors.Join(errDenied, err), deniedHint,
			"%s is refused (403) by the engine or the socket proxy at %s", call, ep.raw)
	case versionMessage.MatchString(err.Error()):
		return explainVersion(err, ep, api)
	case ep.network == "tcp" && strings.Contains(err.Error(), "HTTP request to an HTTPS server"):
		return problem(err, "name the folder with ca.pem, cert.pem and key.pem in DOCKER_CERT_PATH and set DOCKER_TLS_VERIFY=1"+
			" (providers.docker.certPath, .tlsVerify); the port without TLS is 2375 by custom",
			"the engine at %s speaks TLS, and was spoken to without", ep.raw)
	case strings.Contains(err.Error(), "gave HTTP response to HTTPS client"):
		return problem(err, "use tcp:// without DOCKER_CERT_PATH and DOCKER_TLS_VERIFY, or name the engine's port with TLS (2376 by custom)",
			"the engine at %s speaks no TLS, and was spoken to with it", ep.raw)
	case webPage(err):
		return problem(err, "name the engine's own address with --docker or DOCKER_HOST: a web server, or a proxy's error page, answers there",
			"what is at %s is no engine: it answers with a web page", ep.raw)
	case errors.Is(err, context.DeadlineExceeded):
		return problem(err, "the engine is hung or overloaded: see `docker info` and its log",
			"%s got no answer from the engine at %s in time", call, ep.raw)
	}
	if dial != nil && failedToConnect(err) {
		return explainDial(err, dial, ep)
	}
	return problem(err, "", "%s at %s: %v", call, ep.raw, err)
}

// callInspect names the question about one container.
const callInspect = "GET /containers/{id}/json"

// noSuchContainer tells an engine's own word from a 404 that a proxy in front of it
// answers in a bad moment: only the former is the end of a container.
func noSuchContainer(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "no such container")
}

// webPage reports whether HTML came where an engine sends JSON.
func webPage(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "invalid character '<'") || strings.Contains(text, "<!doctype html") || strings.Contains(text, "<html")
}

const deniedHint = "allow GET on /_ping, /version, /events and /containers in the socket proxy" +
	" (CONTAINERS=1, EVENTS=1, PING=1, VERSION=1), and NETWORKS=1 for exact network choice"

func failedToConnect(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "cannot connect") || strings.Contains(text, "trying to connect") ||
		strings.Contains(text, "dial ") || strings.Contains(text, "during connect")
}

func explainDial(err error, dial *net.OpError, ep endpoint) error {
	switch {
	case errors.Is(dial, os.ErrPermission):
		return problem(err, permissionHint(ep.address),
			"no permission to open the engine's socket %s as uid %d", ep.address, os.Geteuid())
	case errors.Is(dial, os.ErrNotExist):
		return problem(err, "start the engine, mount its socket (-v /var/run/docker.sock:/var/run/docker.sock:ro),"+
			" or name the right endpoint with --docker or DOCKER_HOST",
			"there is no engine socket at %s", ep.address)
	case errors.Is(dial, syscall.ECONNREFUSED) && ep.network == "unix" && statSocket(ep.address).dead():
		return problem(err, "mount the directory of the socket instead of the file (-v /var/run:/var/run:ro), or restart"+
			" Fairlead's container: both show it the new socket",
			"the engine's socket %s is dead: the engine has removed it, and a socket that is mounted as a file never"+
				" shows the new one", ep.address)
	case errors.Is(dial, syscall.ECONNREFUSED) && ep.network == "unix":
		return problem(err, "is the engine running? A socket that is mounted as a file goes dead when the engine"+
			" restarts: mount its directory instead (-v /var/run:/var/run:ro)",
			"nobody listens on the engine's socket %s", ep.address)
	case errors.Is(dial, syscall.ECONNREFUSED):
		return problem(err, "is the engine or the socket proxy running, and is this its port?",
			"connection to the engine at %s refused", ep.raw)
	case dial.Timeout():
		return problem(err, "check the address and the firewall", "no answer from the engine at %s", ep.raw)
	}
	return problem(err, "check the endpoint (--docker or DOCKER_HOST)",
		"cannot connect to the engine at %s: %v", ep.raw, dial)
}

func permissionHint(socket string) string {
	group := "the group that owns it"
	if info, err := os.Stat(socket); err == nil {
		const groupMay = 0o060 // connecting needs reading and writing
		if info.Mode()&groupMay != groupMay {
			return fmt.Sprintf("the mode of %s is %04o: let its group use it (chmod 660) and run the router with that group", socket, info.Mode().Perm())
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			group = fmt.Sprintf("group %d, which owns it (on most systems `docker`)", st.Gid)
		}
	}
	return "run the router with " + group + ": --group-add in Docker, group_add in compose, SupplementaryGroups= in systemd"
}

// versionMessage matches the engines' refusals of an API version.
var versionMessage = regexp.MustCompile(
	`client version ([0-9.]+) is too (old|new)\. (?:Minimum|Maximum) supported API version is ([0-9.]+)`)

// versionError is a refused API version and what the engine would take.
type versionError struct {
	cause   error
	offered string
	wanted  string
}

// Error implements error.
func (e *versionError) Error() string { return e.cause.Error() }

const hintOldEngine = "update the engine: it is older than what Fairlead can speak"

func explainVersion(err error, ep endpoint, api string) error {
	m := versionMessage.FindStringSubmatch(err.Error())
	limit, hint := "at least", "update Fairlead: this engine is newer than its client"
	if m[2] == "new" {
		limit, hint = "at most", hintOldEngine
	}
	return problem(&versionError{cause: err, offered: api, wanted: m[3]}, hint,
		"the engine at %s wants API version %s %s, Fairlead offered %s", ep.raw, limit, m[3], m[1])
}

func isVersionProblem(err error) bool {
	var v *versionError
	return errors.As(err, &v)
}

// suggestedVersion returns the version that the engine named in its refusal, if
// trying it makes sense.
func suggestedVersion(err error) string {
	var v *versionError
	if !errors.As(err, &v) || v.wanted == v.offered || !speakable(v.wanted) {
		return ""
	}
	return v.wanted
}

// API versions that the client library speaks.
const (
	minAPIVersion = "1.24"
	maxAPIVersion = "1.51"
)

func speakable(version string) bool {
	return !olderVersion(version, minAPIVersion) && !olderVersion(maxAPIVersion, version)
}

func olderVersion(a, b string) bool {
	aMajor, aMinor := splitVersion(a)
	bMajor, bMinor := splitVersion(b)
	return aMajor < bMajor || aMajor == bMajor && aMinor < bMinor
}

func splitVersion(v string) (major, minor int) {
	a, b, _ := strings.Cut(v, ".")
	major, _ = strconv.Atoi(a)
	minor, _ = strconv.Atoi(b)
	return major, minor
}
