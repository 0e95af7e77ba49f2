package compose

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
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
	project  string
	name     string
	image    string
	labels   map[string]string
	deployed map[string]string // deploy.labels, which no container gets
	replicas int
	mode     string   // network_mode
	networks []string // real names, sorted
	keys     []string // as the file calls them, parallel to networks
	ports    []string // "8080/tcp": what the file itself says of the image's ports
	router   bool     // the router itself
}

func keysOf[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// services lists a project's services by name.
func services(p *types.Project) []service {
	var list []service
	for _, name := range slices.Sorted(keysOf(p.Services)) {
		c := p.Services[name]
		s := service{
			project: p.Name, name: name, image: c.Image, labels: c.Labels, mode: c.NetworkMode,
			replicas: max(c.GetScale(), 0), router: strings.Contains(strings.ToLower(c.Image), "fairlead"),
		}
		if c.Deploy != nil {
			s.deployed = c.Deploy.Labels
		}
		for _, key := range slices.Sorted(keysOf(c.Networks)) {
			s.keys, s.networks = append(s.keys, key), append(s.networks, cmp.Or(p.Networks[key].Name, key))
		}
		for _, port := range c.Ports {
			s.ports = append(s.ports, strconv.FormatUint(uint64(port.Target), 10)+"/"+cmp.Or(port.Protocol, "tcp"))
		}
		for _, port := range c.Expose {
			if !strings.Contains(port, "/") {
				port += "/tcp"
			}
			s.ports = append(s.ports, port)
		}
		list = append(list, s)
	}
	return list
}

// snapshot judges all services together, as the Docker provider judges containers.
func (r *Reader) snapshot(all []service) route.Snapshot {
	var inputs []label.Input
	status := route.ProviderStatus{Name: Name, Enabled: true, Configured: true, Connected: true, Phase: route.PhaseReady}
	var global []route.Diagnostic
	for i := range all {
		s := &all[i]
		if d, ok := r.misplaced(s); ok {
			global = append(global, d)
		}
		for n := range s.replicas {
			status.Candidates++
			candidate := s.candidate(n, len(inputs))
			parsed := label.Parse(r.cfg.Label, candidate)
			if !parsed.Enabled && parsed.Rejected == nil {
				status.Ignored++
				continue
			}
			in := label.Input{Candidate: candidate, Parsed: parsed, Presence: label.Present, Health: "none"}
			in.Endpoints = r.endpoints(s, &parsed, all)
			inputs = append(inputs, in)
		}
	}
	grouped := label.Group(inputs, nil)
	return route.Snapshot{
		Provider: Name, Entrypoints: grouped.Entrypoints, Candidates: grouped.Candidates, Rejected: grouped.Rejected,
		Global: global, Status: status,
	}
}

// candidate is the n-th container of a service; order stands in for the time of its creation.
func (s *service) candidate(n, order int) label.Candidate {
	name := fmt.Sprintf("%s-%s-%d", s.project, s.name, n+1)
	created := time.Unix(int64(order), 0).UTC()
	return label.Candidate{
		ID: name, Name: name, Provider: Name, Project: s.project, Service: s.name,
		Labels: s.labels, Image: s.image, Created: created, Started: created,
	}
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
		e := label.Endpoint{Host: s.name}
		s.reach(&e, r.cfg.Label.Prefix, parsed.Network, all)
		if e.Host != "" {
			name := r.cfg.Label.Prefix + "." + string(d.Protocol) + "." + d.Service + ".port"
			port, diagnostic := docker.ChoosePort(d.Protocol, name, d.Backend.Port, s.mode == "host", s.ports)
			if e.Port = port; port == 0 {
				e.Host = ""
			}
			if diagnostic != nil {
				e.Diagnostics = append(e.Diagnostics, s.unknowable(*diagnostic))
			}
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

// reach judges whether the router would reach the service's containers.
func (s *service) reach(e *label.Endpoint, prefix, network string, all []service) {
	refuse := func(code, hint, format string, args ...any) {
		e.Host = ""
		e.Diagnostics = append(e.Diagnostics, route.Diagnose(code, hint, format, args...))
	}
	target, follows := strings.CutPrefix(s.mode, "service:")
	switch {
	case s.mode == "none":
		refuse("E107", "attach it to a network", "network_mode none: the container has no address")
		return
	case s.mode == "host":
		return
	case follows:
		e.Host = target
		return
	case s.mode != "" && s.mode != "bridge":
		return
	}
	wanted := s.networks
	if network != "" {
		if known, ok := s.attached(network); ok {
			wanted = []string{known}
		} else {
			d := route.Diagnose("W009", "name one of its networks, or attach it", "the container is not on the network %s: it is on %s; any of those is taken",
				network, wordList(s.networks))
			d.Label, d.Value = prefix+".network", network
			e.Diagnostics = append(e.Diagnostics, d)
		}
	}
	if routers, shared := routerNetworks(all, wanted); len(routers) > 0 && !shared {
		refuse("E105", "attach both to one network", "no network is shared: the container is on %s, the router on %s", wordList(wanted), wordList(routers))
	}
}

// attached finds a network of the service by its real name, or by the file's.
func (s *service) attached(name string) (string, bool) {
	if i := slices.Index(s.networks, name); i >= 0 {
		return s.networks[i], true
	}
	if i := slices.Index(s.networks, s.project+"_"+name); i >= 0 {
		return s.networks[i], true
	}
	return "", false
}

// routerNetworks returns the networks of a router in the files, and whether it shares one of
// wanted. A router on the host, or none, shares all.
func routerNetworks(all []service, wanted []string) (networks []string, shared bool) {
	for i := range all {
		if !all[i].router {
			continue
		}
		if all[i].mode == "host" {
			return nil, true
		}
		networks = append(networks, all[i].networks...)
	}
	return networks, slices.ContainsFunc(networks, func(n string) bool { return slices.Contains(wanted, n) })
}

func wordList(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
