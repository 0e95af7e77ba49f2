package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/api/client"
)

// asking gives a command the flags of those that talk to a router.
func (p *program) asking(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.admin, "admin", "", "`URL` of the router's admin listener (default: FAIRLEAD_ADMIN, else "+client.DefaultURL+")")
	p.jsonFlag(cmd)
}

func (p *program) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.json, "json", false, "JSON for programs")
}

// client returns the one that asks the router of --admin or FAIRLEAD_ADMIN, as the
// user of FAIRLEAD_USER and FAIRLEAD_PASSWORD.
func (p *program) client() (*client.Client, error) { return p.clientWithin(client.DefaultTimeout) }

// clientWithin is client for answers that may take their time.
func (p *program) clientWithin(timeout time.Duration) (*client.Client, error) {
	c, err := client.New(client.Config{
		Timeout: timeout,
		URL:     cmp.Or(p.admin, p.lookup("FAIRLEAD_ADMIN"), p.adminOfServe()),
		User:    p.lookup("FAIRLEAD_USER"), Password: p.lookup("FAIRLEAD_PASSWORD"),
		UserAgent: "fairlead/" + buildVersion(),
	})
	if err != nil {
		return nil, usage("", "%v", err)
	}
	return c, nil
}

// adminOfServe is where a router with the same environment listens, as in a container
// whose admin listener got its address by a variable; "" without one.
func (p *program) adminOfServe() string {
	if listen := p.lookup("FAIRLEAD_ADMIN_LISTEN"); listen != "" {
		return "http://" + reachable(listen)
	}
	return ""
}

// statusOf is the router's refusal in an error of the client.
func statusOf(err error) (*client.StatusError, bool) { return errors.AsType[*client.StatusError](err) }

// asked turns an error of the client into what it means for a run. What the router
// said is cleaned: it may quote labels.
func asked(err error) error {
	var away *client.UnreachableError
	var status *client.StatusError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return failed("", "interrupted")
	case errors.As(err, &away):
		return &failure{
			code: exitUnreachable, message: "no router answers at " + away.URL + ": " + printable(away.Err.Error()),
			fix: "start one with fairlead serve, or name its admin listener with --admin or FAIRLEAD_ADMIN",
		}
	case errors.As(err, &status):
		f := &failure{code: exitUnreachable, message: printable(status.Error())}
		switch status.Status {
		case http.StatusUnauthorized:
			f.denied = true
			f.fix = "set FAIRLEAD_USER and FAIRLEAD_PASSWORD"
		case http.StatusForbidden:
			f.denied = true
			f.fix = "ask from the router's own machine, as a user that may read, or by an address that admin.hosts permits"
		case http.StatusBadRequest:
			f.code, f.message = exitUsage, printable(status.Message)
		case http.StatusNotFound:
			f.fix = "is this the admin listener of a router?"
		}
		if url, pasted := withoutDashboard(status.URL); pasted && !f.denied {
			f.fix = "that is an address of the dashboard: leave the end away, --admin " + printable(url)
		}
		return f
	}
	return &failure{code: exitUnreachable, message: printable(err.Error())}
}

// withoutDashboard is the admin URL for that of a page of the dashboard, which people
// paste from the browser.
func withoutDashboard(url string) (admin string, pasted bool) {
	const page = "/dashboard"
	i := strings.LastIndex(url+"/", page+"/")
	if i < 0 {
		return url, false
	}
	return url[:i], true
}
