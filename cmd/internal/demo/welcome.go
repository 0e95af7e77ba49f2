package demo

import (
	"fmt"
	"net"
	"strings"

	"fairlead/cmd/internal/app"
)

// welcome says where everything is and what to try.
func welcome(w *world, at app.Addresses, file, program string) string {
	_, port, _ := net.SplitHostPort(at.HTTP)
	admin := ""
	if at.Admin != "127.0.0.1:3035" {
		admin = " --admin http://" + at.Admin
	}
	var b strings.Builder
	b.WriteString("\nFairlead demo: a router and its backends in one process. Ctrl-C ends it.\n\n")
	fmt.Fprintf(&b, "  Dashboard   http://%s/dashboard/\n\n", at.Admin)
	for _, s := range w.sites {
		fmt.Fprintf(&b, "  %-44s %s\n", fmt.Sprintf("http://%s.localhost:%s/", s.name, port), s.about)
	}
	b.WriteString("\nTry, in another terminal:\n\n")
	for _, line := range [][2]string{
		{"curl http://shop.localhost:" + port + "/", "who answered? ask again"},
		{program + " health" + admin, "what is broken, and why"},
		{program + " explain http_wiki" + admin, "one entrypoint in full"},
		{program + " route resolve http://shop.localhost/cart" + admin, "who would take a request"},
		{program + " probe http://127.0.0.1:" + port + "/health --host shop.localhost", "what a health check of it sees"},
		{"curl -N http://shop.localhost:" + port + "/sse", "events as they come"},
	} {
		fmt.Fprintf(&b, "  %-62s # %s\n", line[0], line[1])
	}
	fmt.Fprintf(&b, "\nThe routes are in %s: change it while the demo runs.\n\n", file)
	return b.String()
}
