package compose

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"fairlead/provider/docker"
	"fairlead/provider/label"
	"fairlead/router/route"
)

// service is one service of a compose file as its containers would be.
type service struct {
	project   string
	name      string
	container string // container_name
	image     string
	labels    map[string]string
	deployed  map[string]string // deploy.labels, which no container gets
	replicas  int
	mode      string   // network_mode
	networks  []string // real names, sorted
	ports     []string // "8080/tcp": what the file itself says of the image's ports
	published []docker.Published
	router    bool // the router itself
}

func keysOf[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// services lists a project's services by name.
func services(p *types.Project) []service {
	var list []service
	for _, name := range slices.Sorted(keysOf(p.Services)) {
		c := p.Services[name]
		s := service{
			project: p.Name, name: name, container: c.ContainerName, image: c.Image, labels: labelsOf(&c), mode: c.NetworkMode,
			replicas: max(c.GetScale(), 0), networks: networksOf(&c, p), ports: portsOf(&c), published: publishedOf(&c), router: isRouter(&c),
		}
		if c.Deploy != nil {
			s.deployed = c.Deploy.Labels
		}
		list = append(list, s)
	}
	return list
}

// labelsOf are those of the containers: an image carries the labels of its build, and the
// service's own ones replace them.
func labelsOf(c *types.ServiceConfig) map[string]string {
	labels := map[string]string{}
	if c.Build != nil {
		maps.Copy(labels, c.Build.Labels)
	}
	maps.Copy(labels, c.Labels)
	return labels
}

func portsOf(c *types.ServiceConfig) []string {
	var ports []string
	for _, port := range c.Ports {
		ports = append(ports, strconv.FormatUint(uint64(port.Target), 10)+"/"+cmp.Or(port.Protocol, "tcp"))
	}
	for _, port := range c.Expose {
		if !strings.Contains(port, "/") {
			port += "/tcp"
		}
		ports = append(ports, port)
	}
	return ports
}

// publishedOf lists what the host would offer. The port of a range, for one port of the
// container, is chosen when the container starts: each of them may be it.
func publishedOf(c *types.ServiceConfig) []docker.Published {
	var list []docker.Published
	for _, port := range c.Ports {
		first, last, _ := strings.Cut(port.Published, "-")
		from, err := strconv.ParseUint(first, 10, 16)
		to, bad := strconv.ParseUint(cmp.Or(last, first), 10, 16)
		if err != nil || bad != nil || to-from > 256 || port.Target > math.MaxUint16 { // none, or not a range
			continue
		}
		for host := from; host <= to; host++ {
			list = append(list, docker.Published{Host: uint16(host), Container: uint16(port.Target), Protocol: cmp.Or(port.Protocol, "tcp")})
		}
	}
	return list
}

// snapshot judges all services together, as the Docker provider judges containers.
func (r *Reader) snapshot(all []service) route.Snapshot {
	var inputs []label.Input
	status := route.ProviderStatus{Name: Name, Enabled: true, Configured: true, Connected: true, Phase: route.PhaseReady}
	var global []route.Diagnostic
	ids := map[string]bool{}
	for i := range all {
		s := &all[i]
		if d, ok := r.misplaced(s); ok {
			global = append(global, d)
		}
		// One that is scaled to 0 is judged by the container that it will have.
		for n := range max(s.replicas, 1) {
			status.Candidates++
			candidate := s.candidate(n, len(inputs))
			candidate.ID = unique(candidate.ID, ids)
			parsed := label.Parse(r.cfg.Label, candidate)
			if !parsed.Enabled && parsed.Rejected == nil {
				status.Ignored++
				continue
			}
			in := label.Input{Candidate: candidate, Parsed: parsed, Presence: label.Present, Health: "none"}
			in.Endpoints = r.endpoints(s, &parsed, all)
			if s.replicas == 0 {
				in.Presence, in.Detail = label.NoAddress, "scaled to 0"
			}
			inputs = append(inputs, in)
		}
	}
	grouped := label.Group(inputs, nil)
	return route.Snapshot{
		Provider: Name, Entrypoints: grouped.Entrypoints, Candidates: grouped.Candidates, Rejected: grouped.Rejected,
		Unrouted: grouped.Unrouted, Global: global, Status: status,
	}
}

// later is behind every container that there is: one that is only to come takes nothing
// from those.
const later = 1 << 30

// candidate is the n-th container of a service; order stands in for the time of its creation.
func (s *service) candidate(n, order int) label.Candidate {
	name := s.containerName(n)
	if s.replicas == 0 {
		order += later
	}
	created := time.Unix(int64(order), 0).UTC()
	return label.Candidate{
		ID: name, Name: name, Provider: Name, Project: s.project, Service: s.name,
		Labels: s.labels, Image: s.image, Created: created, Started: created,
	}
}

// containerName is the name that compose gives the n-th container.
func (s *service) containerName(n int) string {
	return cmp.Or(s.container, fmt.Sprintf("%s-%s-%d", s.project, s.name, n+1))
}

// unique makes an id of a name that another project's container may have as well.
func unique(name string, taken map[string]bool) string {
	id := name
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s#%d", name, n)
	}
	taken[id] = true
	return id
}

// misplaced finds labels of ours that are the deployment's and no container's.
func (r *Reader) misplaced(s *service) (route.Diagnostic, bool) {
	prefix := r.cfg.Label.Prefix + "."
	for _, key := range slices.Sorted(keysOf(s.deployed)) {
		if !strings.HasPrefix(strings.ToLower(key), prefix) {
			continue
		}
		d := route.Diagnose("W132", "move it to `labels:` of the service, beside `image:`",
			"service %s of project %s: labels under deploy.labels are those of a Swarm service; no container gets them", s.name, s.project)
		d.Label = key
		return d, true
	}
	return route.Diagnostic{}, false
}

// endpoints finds a host and a port for each declaration.
func (r *Reader) endpoints(s *service, parsed *label.Parsed, all []service) []label.Endpoint {
	list := make([]label.Endpoint, len(parsed.Declarations))
	for i, d := range parsed.Declarations {
		e, at := s.reach(r.cfg.Label.Prefix, parsed.Network, all)
		if e.Host != "" {
			name := r.cfg.Label.Prefix + "." + string(d.Protocol) + "." + d.Service + ".port"
			port, diagnostic := docker.ChoosePort(d.Protocol, name, d.Backend.Port, at.mode == "host", s.ports)
			if e.Port = port; port == 0 {
				e.Host = ""
			}
			if diagnostic == nil && at.mode != "host" {
				diagnostic = docker.HostPort(d.Protocol, name, d.Backend.Port, slices.Concat(s.ports, at.ports), at.published)
			}
			if diagnostic != nil {
				e.Diagnostics = append(e.Diagnostics, s.unknowable(*diagnostic))
			}
		}
		if s.replicas == 0 {
			e.Diagnostics = append(e.Diagnostics, route.Diagnose("I112", "scale it up, or remove its labels",
				"service %s of project %s is scaled to 0: it has no container", s.name, s.project))
		}
		list[i] = e
	}
	return list
}

// unknowable says where a default stands on what the file does not tell.
func (s *service) unknowable(d route.Diagnostic) route.Diagnostic {
	if d.Code == "I002" && len(s.ports) == 0 {
		d.Message = strings.Replace(d.Message, "neither the image's EXPOSE nor the published ports name a TCP port",
			"the file names no port, and what the image exposes is not known here", 1)
	}
	return d
}
