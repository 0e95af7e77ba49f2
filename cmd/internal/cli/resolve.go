package cli

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/router"
)

// resolveOptions are the flags: the request, and where to look.
type resolveOptions struct {
	method   string
	headers  []string
	clientIP string
	probe    bool
	offline  bool
	source   sourceOptions
}

func (p *program) resolveCommand() *cobra.Command {
	var o resolveOptions
	cmd := &cobra.Command{
		Use:   "resolve URL",
		Short: "Which route takes a request, why the others do not, which backend would serve it",
		Long: `Explains what the router would do with a request. Nothing is sent to a backend
unless --probe asks for it.

Exit codes: 0 a verified backend would serve it; 1 no route takes it; 2 a route takes
it, but nothing verified would serve it (the text says whether unverified backends do,
or which answer clients get); 3 wrong usage; 4 router not reachable, or with --offline
the engine or file.`,
		Example: `  fairlead route resolve http://app.example.com/v1
  fairlead route resolve app.example.com -X POST -H 'X-Tenant: a' --client-ip 203.0.113.7
  fairlead route resolve --offline http://app.example.com/v1     from the engine, without a router
  fairlead route resolve --offline -f routes.yaml http://app.example.com/v1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.query(args[0])
			if err != nil {
				return err
			}
			return p.resolve(cmd.Context(), q, &o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.method, "method", "X", "", "request `method` (default GET)")
	flags.StringArrayVarP(&o.headers, "header", "H", nil, "request header `'Name: value'`; repeatable")
	flags.StringVar(&o.clientIP, "client-ip", "", "`address` of the client, for conditions on it")
	flags.BoolVar(&o.probe, "probe", false, "also connect to the backends that would be picked, from this machine")
	flags.BoolVar(&o.offline, "offline", false, "compute from the engine, or from the file of -f, without a router")
	o.source.flags(cmd)
	p.asking(cmd)
	return cmd
}

// query is the request in question. Values are never repeated in errors.
func (o *resolveOptions) query(url string) (router.Query, error) {
	q := router.Query{URL: url, Method: o.method, Headers: map[string][]string{}}
	if strings.TrimSpace(url) == "" {
		return q, usage("such as http://app.example.com/v1", "the URL is empty")
	}
	for i, h := range o.headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return q, usage("write -H 'Name: value'", "the %s -H is not a header", ordinal(i+1))
		}
		q.Headers[name] = append(q.Headers[name], strings.TrimSpace(value))
	}
	if err := usable(url, &q); err != nil {
		return q, err
	}
	if o.clientIP != "" {
		addr, err := netip.ParseAddr(o.clientIP)
		if err != nil {
			return q, usage("give one such as 203.0.113.7", "--client-ip is not an IP address")
		}
		q.ClientIP = addr.Unmap()
	}
	if flag := o.source.given(); flag != "" && !o.offline {
		return q, usage("add --offline", "%s is for --offline", flag)
	}
	return q, nil
}

func ordinal(n int) string {
	words := []string{"first", "second", "third"}
	if n <= len(words) {
		return words[n-1]
	}
	return "last"
}

// resolved is the answer with what this command adds to it.
type resolved struct {
	router.Resolution
	Offline bool    `json:"offline,omitempty"`
	Probes  []probe `json:"probes,omitempty"`
	// Stale are the providers that the answer may be behind of.
	Stale []stale `json:"stale,omitempty"`
}

func (p *program) resolve(ctx context.Context, q router.Query, o *resolveOptions) error {
	res, behind, err := p.resolution(ctx, q, o)
	if err != nil {
		return err
	}
	p.exit = res.ExitCode()
	if o.offline && p.exit == router.ExitServed {
		p.exit = router.ExitUnverified // nothing was probed, whatever the labels say
	}
	out := resolved{Resolution: *res, Offline: o.offline, Stale: behind}
	if o.probe {
		out.Probes = probeAll(ctx, res.Rotation)
	}
	if p.json {
		return p.writeJSON(out)
	}
	p.printStale(behind, time.Now())
	p.printResolution(cleaned(out))
	return nil
}

// resolution asks the router, or with --offline the engine or file itself.
func (p *program) resolution(ctx context.Context, q router.Query, o *resolveOptions) (*router.Resolution, []stale, error) {
	if o.offline {
		view, err := p.offline(ctx, &o.source)
		if err != nil {
			return nil, nil, err
		}
		res := router.Resolve(view, q)
		return &res, nil, nil
	}
	c, err := p.client()
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	res, err := c.Resolve(ctx, q)
	if err != nil {
		return nil, nil, asked(err)
	}
	return res, stales(ctx, c), nil
}
