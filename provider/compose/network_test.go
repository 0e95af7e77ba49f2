package compose

import (
	"fmt"
	"strings"
	"testing"

	"fairlead/router/route"
)

const routedLabels = `labels: {sozune.enable: "true", sozune.http.web.host: web.localhost, sozune.http.web.port: "80"}`

// codesOf lists the warnings and errors of all candidates.
func codesOf(s route.Snapshot) string {
	var codes []string
	for _, c := range s.Candidates {
		for _, d := range c.Diagnostics {
			if d.Severity != route.SeverityInfo {
				codes = append(codes, d.Code)
			}
		}
	}
	return strings.Join(codes, " ")
}

// TestWhoIsTheRouter: the name of an image, of the folder of a build, of a service or a
// container; not a part of one, and no other command of the same image.
func TestWhoIsTheRouter(t *testing.T) {
	for _, tt := range []struct {
		service string // in network a, beside one in network b
		router  bool
	}{
		{"edge: {image: fairlead, networks: [a]}", true},
		{"edge: {image: 'ghcr.io/acme/Fairlead:1.2', networks: [a]}", true},
		{"edge: {image: 'localhost:5000/fairlead@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef', networks: [a]}", true},
		{"edge: {image: fairlead, command: serve --http :80, networks: [a]}", true},
		{"edge: {build: ./fairlead, networks: [a]}", true},
		{"edge: {build: 'https://example.com/acme/fairlead.git#main', networks: [a]}", true},
		{"fairlead: {image: acme/router, networks: [a]}", true},
		{"edge: {image: acme/router, container_name: fairlead, networks: [a]}", true},
		{"shop: {image: registry.fairlead.io/shop/web, networks: [a]}", false},
		{"shop: {image: fairlead-shop, networks: [a]}", false},
		{"shop: {image: acme/web:fairlead, networks: [a]}", false},
		{"shop: {build: ./fairlead/shop, networks: [a]}", false},
		{"hello: {image: fairlead, command: whoami, networks: [a]}", false},
		{"hello: {image: fairlead, command: [/fairlead, whoami, -port, '80'], networks: [a]}", false},
		{"hello: {image: fairlead, entrypoint: [fairlead], command: demo, networks: [a]}", false},
	} {
		s := judge(t, nil, map[string]string{"compose.yaml": "services:\n  " + tt.service + "\n  web:\n    image: x\n    networks: [b]\n    " + routedLabels +
			"\nnetworks: {a: {}, b: {}}\n"})
		if got := codesOf(s) == "E105"; got != tt.router || !got && codesOf(s) != "" {
			t.Errorf("%s: found %q", tt.service, codesOf(s))
		}
	}
}

// TestReachability: each way to be on a network, against a router on one of them.
func TestReachability(t *testing.T) {
	for _, tt := range []struct {
		name, router, services string
		codes, text            string
	}{
		{"a common network", "networks: [a]", "web: {image: x, networks: [a, b], LABELS}", "", ""},
		{"none in common", "networks: [a]", "web: {image: x, networks: [b], LABELS}", "E105", "the container is on shop_b, the router on shop_a"},
		{"both on the bridge", "network_mode: bridge", "web: {image: x, network_mode: bridge, LABELS}", "", ""},
		{"the router on the bridge", "network_mode: bridge", "web: {image: x, networks: [b], LABELS}", "E105", "on shop_b, the router on bridge"},
		{"the container on the bridge", "networks: [a]", "web: {image: x, network_mode: bridge, LABELS}", "E105", "the container is on bridge, the router on shop_a"},
		{"network_mode names a network", "networks: [a]", "web: {image: x, network_mode: shop_a, LABELS}", "", ""},
		{"the router on the host", "network_mode: host", "web: {image: x, networks: [b], LABELS}", "", ""},
		{"of a service in common", "networks: [a]", "vpn: {image: x, networks: [a]}\n  web: {image: x, network_mode: 'service:vpn', LABELS}", "", ""},
		{"of a service, none in common", "networks: [a]", "vpn: {image: x, networks: [b]}\n  web: {image: x, network_mode: 'service:vpn', LABELS}", "E105",
			"service vpn, whose network the container shares, is on shop_b"},
		{"of a service of a service", "networks: [a]", "top: {image: x, networks: [b]}\n  vpn: {image: x, network_mode: 'service:top'}\n  web: {image: x, network_mode: 'service:vpn', LABELS}", "E105", "service top"},
		{"of a service on the host, with a port", "networks: [a]", "vpn: {image: x, network_mode: host}\n  web: {image: x, network_mode: 'service:vpn', LABELS}", "", ""},
		{"of a service on the host, without", "networks: [a]", "vpn: {image: x, network_mode: host}\n  web: {image: x, network_mode: 'service:vpn', BARE}", "E106", ""},
		{"of a service with no network", "networks: [a]", "vpn: {image: x, network_mode: none}\n  web: {image: x, network_mode: 'service:vpn', LABELS}", "E107", "service vpn, whose network the container shares, has network_mode none"},
		{"of a container in the files", "networks: [a]", "vpn: {image: x, container_name: vpn-1, networks: [b]}\n  web: {image: x, network_mode: 'container:vpn-1', LABELS}", "E105", "service vpn"},
		{"of a container elsewhere", "networks: [a]", "web: {image: x, network_mode: 'container:vpn-1', LABELS}", "", ""},
		{"the label of a network that it shares", "networks: [a]", "vpn: {image: x, networks: [a, b]}\n  web: {image: x, network_mode: 'service:vpn', NETWORK}", "", ""},
		{"no network", "networks: [a]", "web: {image: x, network_mode: none, LABELS}", "E107", ""},
		{"a router in another one's network", "network_mode: 'service:vpn'", "vpn: {image: x, networks: [b]}\n  web: {image: x, networks: [b], LABELS}", "", ""},
		{"a router in an unknown one's network", "network_mode: 'container:vpn'", "web: {image: x, networks: [b], LABELS}", "", ""},
	} {
		text := "services:\n  edge: {image: fairlead, " + tt.router + "}\n  " + strings.NewReplacer("LABELS", routedLabels,
			"BARE", `labels: {sozune.enable: "true", sozune.http.web.host: web.localhost}`,
			"NETWORK", strings.Replace(routedLabels, "{", "{sozune.network: a, ", 1)).Replace(tt.services) + "\nnetworks: {a: {}, b: {}}\n"
		s := judge(t, nil, map[string]string{"compose.yaml": text})
		if codesOf(s) != tt.codes || !strings.Contains(fmt.Sprint(s.Candidates), tt.text) {
			t.Errorf("%s: found %q, want %q: %v", tt.name, codesOf(s), tt.codes, s.Candidates)
		}
		if served := len(s.Entrypoints) == 1 && len(s.Entrypoints[0].Backends) == 1; served != (tt.codes == "") {
			t.Errorf("%s: served %v", tt.name, served)
		}
	}
}
