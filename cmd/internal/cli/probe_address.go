package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/api"
	"fairlead/healthcheck"
	"fairlead/router/route"
)

// probeOptions are the flags of `fairlead probe ADDRESS`: what a check's labels say.
type probeOptions struct {
	method, host, sni       string
	headers                 []string
	status, contains, regex string
	grpcService             string
	followRedirects         bool
	timeout                 time.Duration
	insecure                bool
	ca, cert, key           string
	linkLocal               bool
	count                   int
	interval                time.Duration
}

func (p *program) probeCommand() *cobra.Command {
	var o probeOptions
	cmd := &cobra.Command{
		Use:   "probe ADDRESS | probe ENTRYPOINT BACKEND",
		Short: "Probe an address from this machine, or a backend through the router, and show what is seen",
		Long: `With one argument, probes an address from this machine as the router would, and shows
all that the probe sees; no router is needed. ADDRESS is host:port for a TCP connect, or
a URL: tcp, tls, http, https, grpc (h2c), grpcs, ws or wss. Values of headers and queries
are never shown. Link-local addresses are refused, as the router refuses them.

With two arguments, asks a running router to run the check of a backend now. BACKEND is
an id, a name, a container or an address. It is a dry run unless --apply is given: then
the result counts as that of any probe. It needs a user with the role admin:
FAIRLEAD_USER and FAIRLEAD_PASSWORD.

Exit codes: 0 passed; 1 failed; 2 refused by the router (this user may not ask for it, the
last one is less than a second ago, or the backend is not probed now); 3 wrong usage;
4 router not reachable.`,
		Example: `  fairlead probe 127.0.0.1:5432
  fairlead probe http://127.0.0.1:8080/health --status 200 --contains ready
  fairlead probe https://app.internal --sni app.example.com --ca ca.pem
  fairlead probe grpcs://127.0.0.1:9443 --grpc-service shop.v1.Cart
  fairlead probe http_api 3f2a9c0d1b7e`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if err := onlyFor(cmd, "ADDRESS", "admin", "json", "apply"); err != nil {
					return err
				}
				return p.probeNow(cmd.Context(), args[0], args[1])
			}
			if cmd.Flags().Changed("apply") || cmd.Flags().Changed("admin") {
				return usage("name the BACKEND too, or remove the flag", "--apply and --admin are for a backend of a router")
			}
			return p.probeAddress(cmd.Context(), args[0], &o)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&p.counted, "apply", false, "of a backend: the result counts, as that of any probe")
	p.asking(cmd)
	return cmd
}

// onlyFor refuses flags of the other form of the command: only those named have a meaning.
func onlyFor(cmd *cobra.Command, form string, names ...string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(names, f.Name) {
			err = usage("remove it: the router has the check's settings", "--%s is for probing an %s", f.Name, form)
		}
	})
	return err
}

func (o *probeOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.method, "method", "X", "", "`METHOD` of an HTTP probe: GET, HEAD or OPTIONS (default GET)")
	f.StringVar(&o.host, "host", "", "`NAME` in the Host header, and on TLS")
	f.StringVar(&o.sni, "sni", "", "`NAME` on TLS (default: --host, else the address's)")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "request header `'Name: value'`; repeatable")
	f.StringVar(&o.status, "status", "", "accepted statuses, a `LIST` such as 200,204 or 2xx,!204 (default 2xx,3xx)")
	f.StringVar(&o.contains, "contains", "", "`TEXT` that the first 64 KiB of the body must hold")
	f.StringVar(&o.regex, "regex", "", "`EXPRESSION` (RE2) that the first 64 KiB of the body must match")
	f.StringVar(&o.grpcService, "grpc-service", "", "`SERVICE` to ask the gRPC health service for (default: the server as a whole)")
	f.BoolVar(&o.followRedirects, "follow-redirects", false, "follow redirects to the same host and port, at most 3")
	f.DurationVar(&o.timeout, "timeout", route.DefaultProbeTimeout, "`TIME` for the whole probe")
	f.BoolVar(&o.insecure, "insecure", false, "do not verify the certificate")
	f.StringVar(&o.ca, "ca", "", "`FILE` with the authorities to trust, PEM (default: the system's)")
	f.StringVar(&o.cert, "cert", "", "`FILE` with the client certificate, PEM")
	f.StringVar(&o.key, "key", "", "`FILE` with the key of --cert, PEM (default: the file of --cert)")
	f.BoolVar(&o.linkLocal, "allow-link-local", false, "permit link-local addresses, except the metadata service of clouds")
	f.IntVar(&o.count, "count", 1, "make `N` probes, one after the other; failed when the last one is")
	f.DurationVar(&o.interval, "interval", time.Second, "`TIME` between the starts of several probes")
}

// probeAddress probes an address from this machine.
func (p *program) probeAddress(ctx context.Context, address string, o *probeOptions) error {
	t, err := o.target(address)
	if err != nil {
		return err
	}
	cfg := healthcheck.Config{Version: buildVersion(), AllowLoopback: true, AllowLinkLocal: o.linkLocal}
	if err := o.trust(&cfg, &t.check); err != nil {
		return err
	}
	seen, err := p.probeRepeatedly(ctx, cfg, t, o)
	if err != nil {
		return err
	}
	last := &seen[len(seen)-1]
	if !last.Result.OK {
		p.exit = exitFailed
	}
	switch {
	case p.json && o.count > 1:
		return p.writeJSON(seen)
	case p.json:
		return p.writeJSON(last)
	}
	p.printProbe(cleaned(*last), time.Now())
	return nil
}

// probeRepeatedly makes the probes; of several, each is told in a line when it is done.
func (p *program) probeRepeatedly(ctx context.Context, cfg healthcheck.Config, t *probeTarget, o *probeOptions) ([]api.Probe, error) {
	tick := time.NewTicker(o.interval)
	defer tick.Stop()
	var seen []api.Probe
	for n := range o.count {
		if n > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		report := healthcheck.Once(ctx, cfg, t.backend, t.check)
		if ctx.Err() != nil {
			return nil, failed("", "interrupted")
		}
		if report.Result.Kind == route.KindProbeBlocked {
			report.Hint = o.blockedHint(report.Result.Message)
		}
		seen = append(seen, api.NewProbe(&report))
		if !p.json && o.count > 1 {
			p.printProbeLine(n+1, cleaned(seen[n]))
		}
	}
	return seen, nil
}

// blockedHint says what permits an address here, where no configuration is read.
func (o *probeOptions) blockedHint(why string) string {
	if strings.HasSuffix(why, "a link-local address") && !o.linkLocal {
		return "--allow-link-local permits it; a router permits it by healthCheck.allowLinkLocal in its configuration"
	}
	return "no flag permits it: give another address"
}

// named is the only name in the configuration that a probe from here needs.
const named = "probe"

// trust reads the files of --ca, --cert and --key.
func (o *probeOptions) trust(cfg *healthcheck.Config, c *route.Check) error {
	c.TLS.InsecureSkipVerify = o.insecure
	if o.ca != "" {
		text, err := os.ReadFile(o.ca)
		if err != nil {
			return usage("name a file that can be read", "--ca: %v", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return usage("it must hold PEM blocks of type CERTIFICATE", "--ca: %s holds no certificate", printable(o.ca))
		}
		cfg.CAs = map[string]*x509.CertPool{named: pool}
		c.TLS.CA = named
	}
	if o.cert == "" {
		if o.key != "" {
			return usage("name the file of the certificate too", "--key is given without --cert")
		}
		return nil
	}
	key := o.key
	if key == "" {
		key = o.cert
	}
	pair, err := tls.LoadX509KeyPair(o.cert, key)
	if err != nil {
		return usage("give PEM files of a certificate and its key", "--cert: %v", err)
	}
	cfg.ClientCerts = map[string]*tls.Certificate{named: &pair}
	c.TLS.ClientCert = named
	return nil
}
