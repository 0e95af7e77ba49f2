package demo

import (
	"fmt"
	"net"
	"strings"

	"fairlead/cmd/internal/app"
)

// welcome says where everything is and what to try. operator is the one who may give
// orders.
func welcome(w *world, at app.Addresses, file, program string, operator login) string {
	_, port, _ := net.SplitHostPort(at.HTTP)
	admin := ""
	if at.Admin != preferredAdmin {
		admin = " --admin http://" + at.Admin
	}
	var b strings.Builder
	b.WriteString("\nFairlead demo: a router and its backends in one process. Ctrl-C ends it.\n\n")
	fmt.Fprintf(&b, "  Dashboard   http://%s/dashboard/\n\n", at.Admin)
	var sites [][2]string
	for _, s := range w.sites {
		sites = append(sites, [2]string{fmt.Sprintf("http://%s.localhost:%s/", s.name, port), s.about})
	}
	columns(&b, sites, "  ")
	b.WriteString("\nTry, in another terminal:\n\n")
	columns(&b, [][2]string{
		{"curl http://shop.localhost:" + port + "/", "who answered? ask again"},
		{program + " health" + admin, "what is broken, and why"},
		{program + " explain http_wiki" + admin, "one entrypoint in full"},
		{program + " route resolve http://shop.localhost/cart" + admin, "who would take a request"},
		{program + " probe http://127.0.0.1:" + port + "/health --host shop.localhost", "what a health check of it sees"},
		{"curl -N http://shop.localhost:" + port + "/sse", "events as they come"},
	}, "  # ")
	b.WriteString("\nTake a backend out and bring it back, as the user who may:\n\n")
	fmt.Fprintf(&b, "  export FAIRLEAD_USER=%s FAIRLEAD_PASSWORD=%s\n", operator.name, operator.password)
	backend := w.sites[0].backends[0].address.String()
	columns(&b, [][2]string{
		{program + " drain http_shop " + backend + ` --reason "new disk"` + admin, "shop-2 answers alone"},
		{program + " ready http_shop " + backend + admin, "both again"},
	}, "  # ")
	fmt.Fprintf(&b, "\nThe page of an entrypoint has the same as buttons for who is logged in: http://%s/login, with that name and password.\n", at.Admin)
	fmt.Fprintf(&b, "\nThe routes are in %s: change it while the demo runs.\n\n", file)
	return b.String()
}

// columns writes two columns, the second behind the longest of the first.
func columns(b *strings.Builder, rows [][2]string, between string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	for _, r := range rows {
		fmt.Fprintf(b, "  %-*s%s%s\n", width, r[0], between, r[1])
	}
}
