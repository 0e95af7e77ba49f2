package cli

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/api"
	"fairlead/api/client"
	"fairlead/router/route"
)

// readiness is what healthcheck is asked beside whether the process answers.
type readiness struct {
	ready   bool // it serves, and every enabled provider was read
	serving bool // it serves, with what the providers that were read gave
	wait    time.Duration
}

func (p *program) healthcheckCommand() *cobra.Command {
	var o sourceOptions
	var r readiness
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Whether the router of this machine answers; for the image's HEALTHCHECK",
		Long: `Asks /healthy of the admin listener at the address of the configuration (file or
environment: flags of another process are not known here). With --ready it asks /ready
instead: whether every provider was read and the router takes connections, which is
what a new router must say before an old one is stopped. With --serving it need only
take connections: a provider may be missing while another one gives routes, as at a
boot without the engine. Exit codes: 0 yes, 1 no, 3 wrong usage.`,
		Example: `  fairlead healthcheck
  fairlead healthcheck --admin http://127.0.0.1:9000
  fairlead healthcheck --ready --wait 60s --admin http://127.0.0.1:3036`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.healthcheck(cmd.Context(), &o, r) },
	}
	cmd.Flags().StringVar(&p.admin, "admin", "", "`URL` of the admin listener (default: FAIRLEAD_ADMIN, else the configuration's)")
	cmd.Flags().StringVar(&o.config, "config", "", "configuration `file`")
	cmd.Flags().BoolVar(&r.ready, "ready", false, "ask whether it takes connections and every provider was read")
	cmd.Flags().BoolVar(&r.serving, "serving", false, "ask whether it takes connections, even where a provider was never read")
	cmd.MarkFlagsMutuallyExclusive("ready", "serving")
	cmd.Flags().DurationVar(&r.wait, "wait", 0, "ask again for this `time` while the answer is no")
	return cmd
}

func (p *program) healthcheck(ctx context.Context, o *sourceOptions, r readiness) error {
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
	if err := r.await(ctx, c); err != nil {
		return err
	}
	p.say("ok")
	return nil
}

// await asks until the answer is yes or the time is over.
func (r *readiness) await(ctx context.Context, c *client.Client) error {
	end := time.NewTimer(r.wait)
	defer end.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := r.ask(ctx, c)
		if err == nil || r.wait <= 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return failed("", "interrupted")
		case <-end.C:
			return err
		case <-tick.C:
		}
	}
}

func (r *readiness) ask(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // below the image's own limit of 3 s, so that the reason is seen
	defer cancel()
	if !r.ready && !r.serving {
		return unanswered(c.Healthy(ctx))
	}
	answer, err := c.Ready(ctx)
	if err != nil {
		return unanswered(err)
	}
	return r.judge(answer)
}

// judge says why an answer of /ready is not what was asked for; nil when it is.
func (r *readiness) judge(answer *api.Ready) error {
	var phases, unread []string
	for _, name := range slices.Sorted(maps.Keys(answer.Phases)) {
		phases = append(phases, name+" "+answer.Phases[name])
		if !api.WasRead(route.ProviderPhase(answer.Phases[name])) {
			unread = append(unread, name)
		}
	}
	switch answer.Status {
	case api.ReadyOK, api.ReadyDegraded:
		if r.serving || len(unread) == 0 {
			return nil
		}
		return failed("see `fairlead health` for what is wrong with it; a router that has read it must not be stopped yet",
			"not ready: it serves, but never read %s", printable(strings.Join(unread, ", ")))
	}
	return failed("", "not ready: %s", printable(strings.Join(append([]string{strings.ReplaceAll(answer.Status, "_", " ")}, phases...), ", ")))
}

// unanswered says who did not answer, and why that may be.
func unanswered(err error) error {
	if err = asked(err); err == nil {
		return nil
	}
	var f *failure
	errors.As(err, &f)
	return failed("if serve got its address by --admin, set FAIRLEAD_ADMIN_LISTEN instead: this command reads it too", "%s", f.message)
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
