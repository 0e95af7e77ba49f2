package cli

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
)

func (p *program) healthcheckCommand() *cobra.Command {
	var o sourceOptions
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Whether the router of this machine answers; for the image's HEALTHCHECK",
		Long: `Asks /healthy of the admin listener at the address of the configuration (file or
environment: flags of another process are not known here). Exit codes: 0 it answers,
1 it does not.`,
		Example: "  fairlead healthcheck\n  fairlead healthcheck --admin http://127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.healthcheck(cmd.Context(), &o) },
	}
	cmd.Flags().StringVar(&p.admin, "admin", "", "`URL` of the admin listener (default: FAIRLEAD_ADMIN, else the configuration's)")
	cmd.Flags().StringVar(&o.config, "config", "", "configuration `file`")
	return cmd
}

func (p *program) healthcheck(ctx context.Context, o *sourceOptions) error {
	if p.admin == "" && p.lookup("FAIRLEAD_ADMIN") == "" {
		settings, err := p.settings(o)
		if err != nil {
			return err
		}
		if settings.Admin.Listen == "" {
			return failed("give admin.listen an address, or the image no HEALTHCHECK", "the admin listener is off: nobody can be asked")
		}
		p.admin = "http://" + reachable(settings.Admin.Listen)
	}
	c, err := p.client()
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // below the image's own limit of 3 s, so that the reason is seen
	defer cancel()
	if err := asked(c.Healthy(ctx)); err != nil {
		var f *failure
		errors.As(err, &f)
		return failed("if serve got its address by --admin, set FAIRLEAD_ADMIN_LISTEN instead: this command reads it too", "%s", f.message)
	}
	p.say("ok")
	return nil
}

// reachable turns an address to listen on into one to connect to.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "" || err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}
