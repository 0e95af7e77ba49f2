package compose

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// networksOf returns the real names of the networks that a service's containers join,
// sorted. network_mode names one, too, unless it stands for something else.
func networksOf(c *types.ServiceConfig, p *types.Project) []string {
	var list []string
	for key := range c.Networks {
		list = append(list, cmp.Or(p.Networks[key].Name, key))
	}
	switch mode := c.NetworkMode; {
	case mode == "" || mode == "host" || mode == "none" || strings.Contains(mode, ":"):
	case mode == "default":
		list = append(list, "bridge")
	default:
		list = append(list, mode)
	}
	slices.Sort(list)
	return list
}

// routerName is what the router is called: its image, the folder that it is built from, its
// service or container.
const routerName = "fairlead"

// isRouter reports whether a service is the router itself, and not another use of its
// image.
func isRouter(c *types.ServiceConfig) bool {
	words := slices.Concat(c.Entrypoint, c.Command)
	for _, word := range words[:min(len(words), 2)] { // the first one may be the program
		if word == "whoami" || word == "demo" {
			return false
		}
	}
	names := []string{c.Name, c.ContainerName, imageName(c.Image)}
	if c.Build != nil {
		context, _, _ := strings.Cut(c.Build.Context, "#")
		names = append(names, strings.TrimSuffix(path.Base(context), ".git"))
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, routerName) })
}

// imageName is the last part of an image's name, without its tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image, _, _ = strings.Cut(path.Base(image), ":")
	return image
}

// maxFollow bounds chains of services that share one another's network.
const maxFollow = 4

// site returns the service on whose network the containers are: its own, or the one that
// network_mode names. It is nil when the files do not tell.
func (s *service) site(all []service) *service {
	for range maxFollow {
		name, follows := strings.CutPrefix(s.mode, "service:")
		other, container := strings.CutPrefix(s.mode, "container:")
		if !follows && !container {
			return s
		}
		i := slices.IndexFunc(all, func(o service) bool {
			return follows && o.project == s.project && o.name == name || container && o.containerName(0) == other
		})
		if i < 0 {
			return nil
		}
		s = &all[i]
	}
	return nil
}

// reach judges whether the router would reach the service's containers. at is the service
// on whose network they are, or the service itself.
func (s *service) reach(prefix, network string, all []service) (e label.Endpoint, at *service) {
	if at = s.site(all); at == nil {
		e.Host = s.mode[strings.IndexByte(s.mode, ':')+1:]
		return e, s
	}
	refuse := func(code, hint, format string, args ...any) {
		e.Host = ""
		e.Diagnostics = append(e.Diagnostics, route.Diagnose(code, hint, format, args...))
	}
	e.Host = at.name
	who := "the container"
	if at != s {
		who = "service " + at.name + ", whose network the container shares,"
	}
	switch at.mode {
	case "none":
		refuse("E107", "attach it to a network", "%s has network_mode none: there is no address", who)
		return e, at
	case "host":
		return e, at
	}
	wanted := at.networks
	if network != "" {
		if known, ok := at.attached(network, s.project); ok {
			wanted = []string{known}
		} else {
			d := route.Diagnose("W009", "name one of its networks, or attach it", "%s is not on the network %s: it is on %s; any of those is taken",
				who, network, wordList(at.networks))
			d.Label, d.Value = prefix+".network", network
			e.Diagnostics = append(e.Diagnostics, d)
		}
	}
	if routers, shared := routerNetworks(all, wanted); len(routers) > 0 && !shared {
		refuse("E105", "attach both to one network", "no network is shared: %s is on %s, the router on %s", who, wordList(wanted), wordList(routers))
	}
	return e, at
}

// attached finds a network of the service by its real name, or by the file's.
func (s *service) attached(name, project string) (string, bool) {
	for _, known := range []string{name, project + "_" + name} {
		if slices.Contains(s.networks, known) {
			return known, true
		}
	}
	return "", false
}

// routerNetworks returns the networks of the routers in the files, and whether they share one
// of wanted. A router on the host shares all, and so does one of which the files do not tell.
func routerNetworks(all []service, wanted []string) (networks []string, shared bool) {
	for i := range all {
		if !all[i].router {
			continue
		}
		at := all[i].site(all)
		if at == nil || at.mode == "host" {
			return nil, true
		}
		networks = append(networks, at.networks...)
	}
	slices.Sort(networks)
	return slices.Compact(networks), slices.ContainsFunc(networks, func(n string) bool { return slices.Contains(wanted, n) })
}

func wordList(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
