package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fairlead/api"
	"fairlead/cmd/internal/app"
	"fairlead/cmd/internal/config"
	"fairlead/provider/docker"
	"fairlead/router"
	"fairlead/router/route"
)

// parts makes a router of the settings without starting it, and reads the file of
// entrypoints: what serve would refuse, or find missing, is told.
func (d *doctor) parts(ctx context.Context, s *config.Config) {
	if _, err := app.New(app.Config{Settings: *s, Version: buildVersion(), Env: d.p.Env}); err != nil {
		if engine, ok := errors.AsType[*docker.EngineError](err); !ok {
			d.add("settings", verdictFail, err.Error(), "serve refuses to start with it: correct the setting that the message names")
		} else {
			d.add("settings", verdictFail, engine.Text, engine.Hint)
		}
	}
	if s.Providers.File.Path == "" {
		return
	}
	f, err := app.File(s, s.Providers.File.Path, app.Logs{})
	if err == nil {
		_, err = f.Collect(ctx)
	}
	if err != nil {
		d.add("file", verdictFail, err.Error(), "correct providers.file.path, or the file; nothing of it is routed until then")
		return
	}
	d.add("file", verdictOK, s.Providers.File.Path, "")
}

// engine asks the engine and judges what it has.
func (d *doctor) engine(ctx context.Context, s *config.Config) {
	if !s.Providers.Docker.Enabled {
		d.add("engine", verdictNote, "no engine is watched (providers.docker.enabled is false)", "")
		return
	}
	path, usable := d.socket(cmp.Or(s.Providers.Docker.Endpoint, docker.DefaultEndpoint))
	if !usable {
		return
	}
	provider, err := app.Docker(s, d.p.lookup("FAIRLEAD_CONTAINER_ID"), app.Logs{})
	if err != nil {
		d.engineFailed(err)
		return
	}
	snapshot, err := provider.Collect(ctx)
	if err != nil {
		d.engineFailed(err)
		return
	}
	if path != "" {
		d.add("socket", verdictOK, path, "")
	}
	status := &snapshot.Status
	d.add("engine", verdictOK, fmt.Sprintf("version %s, API %s: %s, %d of them without labels of ours",
		status.EngineVersion, status.APIVersion, plural(status.Candidates, "container"), status.Ignored), "")
	for _, note := range status.Notes {
		d.add("engine", verdictNote, note, "")
	}
	d.labels(router.Offline(snapshot))
}

func (d *doctor) engineFailed(err error) {
	if engine, ok := errors.AsType[*docker.EngineError](err); ok {
		d.add("engine", verdictFail, engine.Text, engine.Hint)
		return
	}
	d.add("engine", verdictFail, err.Error(), "see whether `docker version` works for the user that runs this")
}

// socket looks at the file behind a unix endpoint: one that is mounted by itself turns
// into a dead inode when its engine restarts. It returns the path of a socket that nothing
// is said against; usable is false for a file that no engine can be behind.
func (d *doctor) socket(endpoint string) (path string, usable bool) {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok {
		return "", true
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", true // the engine's own failure says it
	}
	if info.Mode().Type() != os.ModeSocket {
		what := "a file"
		if info.IsDir() {
			what = "a folder"
		}
		d.add("socket", verdictFail, path+" is "+what+", no socket: no engine can be behind it",
			"name the engine's socket with --docker or DOCKER_HOST, such as "+docker.DefaultEndpoint+
				"; where it is mounted, see that it is there before the container starts")
		return "", false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink == 0 {
		d.add("socket", verdictFail, path+" is the socket of an engine that has been restarted since: nobody listens on it any more",
			"restart this container, and mount the folder "+filepath.Dir(path)+" instead of the socket itself")
		return "", true
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil && isMountPoint(string(text), path) {
		d.add("socket", verdictWarn, path+" is mounted by itself: when the engine restarts it makes a new one, which is then not seen here",
			"mount the folder "+filepath.Dir(path)+" instead, or restart this container after the engine")
		return "", true
	}
	return path, true
}

// isMountPoint reports whether a path is a mount of its own (proc_pid_mountinfo(5),
// field 5).
func isMountPoint(mountinfo, path string) bool {
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == path {
			return true
		}
	}
	return false
}

// labels judges the labels of all containers. A code is said once of a container.
func (d *doctor) labels(v *router.View) {
	all := api.DiagnosticsOf(v)
	told := map[string]bool{}
	mistakes := 0
	for i := range all.Global {
		mistakes += d.label("", &all.Global[i])
	}
	names := candidateNames(v)
	for _, c := range all.Items {
		for i := range c.Diagnostics {
			if key := c.CandidateID + c.Diagnostics[i].Code; !told[key] {
				told[key] = true
				mistakes += d.label(cmp.Or(names[c.CandidateID], short(c.CandidateID))+": ", &c.Diagnostics[i])
			}
		}
	}
	for i := range all.Rejected {
		r := &all.Rejected[i]
		switch {
		case r.Code != "" && !told[r.CandidateID+r.Code]:
			mistakes++
			d.add("labels", verdictWarn, fmt.Sprintf("%s is not routed: %s (%s)", r.Name, r.Reason, r.Code), r.Hint)
		case r.Code == "" && r.Since > 0: // no mistake, but perhaps why nothing answers
			d.add("labels", verdictNote, r.Name+" is not routed: "+whyRejected(r, time.Now()), r.Hint)
		}
	}
	for _, e := range all.Entrypoints {
		for i := range e.Diagnostics {
			mistakes += d.label(e.EntrypointID+": ", &e.Diagnostics[i])
		}
	}
	if mistakes == 0 {
		d.add("labels", verdictOK, plural(len(v.Entrypoints), "entrypoint")+", no mistake", "")
	}
}

// label tells a finding, and how many mistakes it is. What is only good to know of one
// container or entrypoint is left to validate.
func (d *doctor) label(about string, g *route.Diagnostic) (mistakes int) {
	if g.Severity != route.SeverityInfo {
		mistakes = 1
	}
	if mistakes > 0 || about == "" {
		text := strings.TrimPrefix(g.Label+": "+g.Message, ": ")
		d.add("labels", verdictOf(g.Severity), fmt.Sprintf("%s%s (%s)", about, text, g.Code), g.Hint)
	}
	return mistakes
}

func verdictOf(s route.Severity) verdict {
	switch s {
	case route.SeverityError:
		return verdictFail
	case route.SeverityWarn:
		return verdictWarn
	case route.SeverityInfo:
	}
	return verdictNote
}

// router asks a running router how it sees things. It returns where one answers, "" when
// none does.
func (d *doctor) router(ctx context.Context, s *config.Config) string {
	if d.p.admin == "" && d.p.lookup("FAIRLEAD_ADMIN") == "" && s.Admin.Listen != "" {
		d.p.admin = "http://" + reachable(s.Admin.Listen)
	}
	c, err := d.p.client()
	if err != nil {
		d.add("router", verdictFail, err.Error(), "correct --admin or FAIRLEAD_ADMIN")
		return ""
	}
	defer c.Close()
	limited, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := c.Healthy(limited); err != nil {
		if d.pasted(c.URL(), err) {
			return c.URL()
		}
		d.add("router", verdictNote, "none answers at "+c.URL(), "")
		return ""
	}
	providers, err := c.Providers(limited)
	if d.pasted(c.URL(), err) {
		return c.URL()
	}
	if err != nil {
		d.add("router", verdictWarn, "it answers at "+c.URL()+" but does not let us ask: "+err.Error(), "set FAIRLEAD_USER and FAIRLEAD_PASSWORD")
		return c.URL()
	}
	d.add("router", verdictOK, "answers at "+c.URL(), "")
	var global []route.Diagnostic
	if found, err := c.Diagnostics(limited); err == nil {
		global = found.Global
	}
	for i := range providers {
		d.provider(&providers[i], global)
	}
	for _, g := range global {
		d.add("router", verdictOf(g.Severity), g.Message+" ("+g.Code+")", g.Hint)
	}
	return c.URL()
}

// pasted reports whether an error is the answer of a page of the dashboard, and says so.
func (d *doctor) pasted(asked string, err error) bool {
	admin, page := withoutDashboard(asked)
	status, answered := statusOf(err)
	if !page || !answered || status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
		return false
	}
	d.add("router", verdictFail, printable(asked)+" is an address of the dashboard", "leave the end away: "+printable(admin))
	return true
}

// provider judges a provider of the running router. Errors that are among its global
// findings have a fix of their own there.
func (d *doctor) provider(p *api.Provider, global []route.Diagnostic) {
	message := "its provider " + p.Name + " is not connected"
	s, behind := staleOf(p)
	switch {
	case behind:
		message = s.banner(time.Now())
	case !p.Enabled || p.Connected && p.LastError == nil:
		return
	case p.Connected:
		message = "its provider " + p.Name + " is connected, but not all is well"
	}
	if p.LastError != nil && !slices.ContainsFunc(global, func(g route.Diagnostic) bool { return strings.Contains(*p.LastError, g.Message) }) {
		message += " (" + *p.LastError + ")"
	}
	fix := ""
	if p.Hint != nil {
		fix = *p.Hint
	}
	d.add("router", verdictFail, message, fix)
}

// ports tries to listen where a router would. running is where one answers: only of one
// that has the admin address of these settings is it known that it has the others, too.
func (d *doctor) ports(ctx context.Context, s *config.Config, running string) {
	own := s.Admin.Listen != "" && running == "http://"+reachable(s.Admin.Listen)
	for _, l := range [][3]string{
		{"HTTP", s.Proxy.HTTP.Listen, "proxy.http.listen"}, {"admin", s.Admin.Listen, "admin.listen"}, {"metrics", s.Metrics.Listen, "metrics.listen"},
	} {
		what, address, setting := l[0], l[1], l[2]
		if address == "" {
			continue
		}
		try, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		switch {
		case err == nil:
			_ = try.Close()
			d.add("ports", verdictOK, what+" "+address+" is free", "")
		case errors.Is(err, syscall.EADDRINUSE) && own:
			d.add("ports", verdictOK, what+" "+address+" is in use, as it should be while a router runs", "")
		case errors.Is(err, syscall.EADDRINUSE) && running != "":
			d.add("ports", verdictWarn, what+" "+address+" is in use: by the router at "+running+", or by another program; the router does not say where it listens",
				"see which with ss -ltnp; a router with these settings needs "+setting+" free")
		case errors.Is(err, syscall.EADDRINUSE):
			d.add("ports", verdictFail, what+" "+address+" is taken by another program", "stop it (ss -ltnp shows which), or choose another address with "+setting)
		case errors.Is(err, syscall.EACCES):
			d.add("ports", verdictFail, what+" "+address+" may not be bound by this user",
				"run as root, give the program CAP_NET_BIND_SERVICE, or choose a port from 1024 on with "+setting)
		default:
			d.add("ports", verdictFail, what+" "+address+" cannot be bound: "+err.Error(), "choose another address with "+setting)
		}
	}
	slices.SortStableFunc(d.findings, func(a, b checkup) int { return cmp.Compare(severityRank(b.Verdict), severityRank(a.Verdict)) })
}

// severityRank puts what is in the way first.
func severityRank(v verdict) int {
	switch v {
	case verdictFail:
		return 3
	case verdictWarn:
		return 2
	case verdictOK, verdictNote:
	}
	return 1
}
