package cli

import (
	"slices"
	"strings"

	"fairlead/router"
	"fairlead/router/route"
)

// reportedRoute is one entrypoint that would exist.
type reportedRoute struct {
	ID       string   `json:"id"`
	Hosts    []string `json:"hosts"`
	Path     string   `json:"path"`
	Backends []string `json:"backends"`
	Closed   string   `json:"closed,omitempty"` // the code that closes it
	// Refused are the codes for which containers of it are no backends.
	Refused []string `json:"refused,omitempty"`
}

// serves reports whether a request would reach anybody.
func (r *reportedRoute) serves() bool { return r.Closed == "" && len(r.Backends) > 0 }

// note says why nobody would, or that a part of it is missing.
func (r *reportedRoute) note() string {
	var list []string
	if r.Closed != "" {
		list = append(list, "closed by "+r.Closed)
	}
	switch codes := strings.Join(r.Refused, ", "); {
	case codes != "" && len(r.Backends) == 0:
		list = append(list, "no backend: "+codes)
	case codes != "":
		list = append(list, "without those refused by "+codes)
	case len(r.Backends) == 0:
		list = append(list, "no backend")
	}
	return strings.Join(list, "; ")
}

func newReportedRoute(v *router.EntrypointView, candidates []route.CandidateDiagnostics) reportedRoute {
	e := v.Entrypoint
	out := reportedRoute{ID: e.ID, Hosts: []string{}, Backends: []string{}}
	for i := range e.Match.Hosts {
		out.Hosts = append(out.Hosts, e.Match.Hosts[i].String())
	}
	if e.Match.Path.Value != "" {
		out.Path = e.Match.Path.Kind.String() + " " + e.Match.Path.Value
	}
	for i := range e.Backends {
		out.Backends = append(out.Backends, e.Backends[i].Address())
	}
	if e.FailClosed != nil {
		out.Closed = e.FailClosed.Code
	}
	out.refused(v, candidates)
	return out
}

// refused finds the codes of the containers that are refused, or without any backend those
// of the entrypoint.
func (r *reportedRoute) refused(v *router.EntrypointView, candidates []route.CandidateDiagnostics) {
	add := func(list []route.Diagnostic) {
		for _, d := range list {
			if d.Severity == route.SeverityError && d.Code != r.Closed && !slices.Contains(r.Refused, d.Code) {
				r.Refused = append(r.Refused, d.Code)
			}
		}
	}
	for _, a := range v.Entrypoint.Absent {
		for i := range candidates {
			if a.Why == route.AbsentRefused && candidates[i].CandidateID == a.CandidateID {
				add(candidates[i].Diagnostics)
			}
		}
	}
	if len(r.Backends) == 0 && len(r.Refused) == 0 {
		add(v.Diagnostics)
	}
}

// printEntrypoints prints those that serve, or those that do not.
func (p *program) printEntrypoints(title string, list []reportedRoute, serve bool) {
	t := table{head: []string{"ENTRYPOINT", "HOSTS", "PATH", "BACKENDS", "NOTE"}}
	for i := range list {
		if e := &list[i]; e.serves() == serve {
			t.add(e.ID, few(e.Hosts, 2), e.Path, few(e.Backends, 3), e.note())
		}
	}
	if len(t.rows) == 0 {
		return
	}
	s := p.style(p.Out)
	p.say("%s", s.bold(title))
	t.write(p.Out, "  ", s)
	p.say("")
}
