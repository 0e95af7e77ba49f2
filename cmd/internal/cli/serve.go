package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"fairlead/cmd/internal/app"
	"fairlead/cmd/internal/config"
	"fairlead/provider/docker"
)

// serveFlag is a flag of serve and the setting that it is short for.
type serveFlag struct{ name, setting, usage string }

// reusePort is the one flag of them that needs no value.
const reusePort = "reuse-port"

func serveFlags() []serveFlag {
	return []serveFlag{
		{"http", "proxy.http.listen", "`address` of the HTTP listener; empty turns it off (default :80)"},
		{reusePort, "proxy.http.reusePort", "share the HTTP address with a running router that does so, too, and take over from it"},
		{"admin", "admin.listen", "`address` of the admin listener; empty turns it off (default 127.0.0.1:3035)"},
		{"docker", dockerEndpoint, "`address` of the engine; empty turns Docker off (default: DOCKER_HOST, else unix:///var/run/docker.sock)"},
		{"file", "providers.file.path", "YAML or JSON `file` with entrypoints, watched"},
		{"log-level", "log.level", "least `severity`: trace, debug, info, warn, error, off (default info)"},
		{"log-format", "log.format", "`format`: json, console, auto (default auto: console on a terminal)"},
	}
}

// of is the setting that the flag gives, and its value. Without an engine to watch
// nothing else about it matters.
func (f *serveFlag) of(value string) (setting string, flag config.Flag) {
	if f.setting == dockerEndpoint {
		return dockerSetting(value)
	}
	return f.setting, config.Flag{Name: "--" + f.name, Value: value}
}

func (p *program) serveCommand() *cobra.Command {
	var path, https string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the router",
		Long: `Runs the router until SIGTERM or SIGINT. It needs no configuration: it watches Docker
at DOCKER_HOST or the local socket, serves HTTP on :80 and its API on 127.0.0.1:3035.

A setting comes from a flag, else from the environment (FAIRLEAD_ and its path in
capitals: FAIRLEAD_PROXY_HTTP_LISTEN), else from the configuration file, else from the
defaults. At a stop requests in flight get shutdownTimeout (8s); a second signal ends
at once. Exit codes: 0 everything ended in time, 1 otherwise, 3 wrong usage.`,
		Example: `  fairlead serve
  fairlead serve --http 127.0.0.1:8080 --log-level debug
  fairlead serve --file routes.yaml --docker ""`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if https != "" {
				return usage("end TLS in front of the router and list the proxy in proxy.trustedProxies", "--https is not in this version")
			}
			flags := map[string]config.Flag{}
			for _, f := range serveFlags() {
				if flag := cmd.Flags().Lookup(f.name); flag.Changed {
					setting, given := f.of(flag.Value.String())
					flags[setting] = given
				}
			}
			return p.serve(cmd.Context(), config.Source{Path: path, Env: p.Env, Flags: flags})
		},
	}
	for _, f := range serveFlags() {
		if f.name == reusePort {
			cmd.Flags().Bool(f.name, false, f.usage)
			continue
		}
		cmd.Flags().String(f.name, "", f.usage)
	}
	cmd.Flags().StringVar(&https, "https", "", "`address` of the HTTPS listener; not in this version")
	cmd.Flags().StringVar(&path, "config", "", "configuration `file` (default: CONFIG_PATH, ./fairlead.yaml, /etc/fairlead/fairlead.yaml)")
	return cmd
}

func (p *program) serve(ctx context.Context, source config.Source) error {
	loaded, err := load(source)
	if err != nil {
		return err
	}
	var hangups <-chan os.Signal
	if p.Lasting != nil {
		hangups = p.Lasting()
	}
	logs := app.NewLogs(p.Err, loaded.Config.Log, terminal(p.Err), p.style(p.Err).colour)
	log := logs.For("app")
	for _, warning := range loaded.Warnings {
		log.Warn().Msg(warning)
	}
	a, err := app.New(app.Config{
		Settings: loaded.Config, Shown: loaded.Settings(), File: loaded.File, Version: buildVersion(), Logs: logs,
		ContainerID: p.lookup("FAIRLEAD_CONTAINER_ID"), Env: p.Env,
		Out: p.Out, Hangup: hangups,
	})
	if err != nil {
		return notStarted(err, source)
	}
	return stopped(a.Run(ctx))
}

// notStarted is the failure of parts that refuse their settings.
func notStarted(err error, source config.Source) error {
	_, flagged := source.Flags[dockerEndpoint]
	if engine, ok := errors.AsType[*docker.EngineError](err); ok && flagged {
		return usage(printable(engine.Hint), "--docker: %s", printable(engine.Text))
	}
	return engineFailure(err)
}

// stopped is what the end of a router means for the run. A cause that is in the log
// already is not said again.
func stopped(err error) error {
	if err != nil {
		if bind, ok := errors.AsType[*app.BindError](err); ok {
			return failed(bind.Fix, "%v", bind)
		}
		if told, ok := errors.AsType[*app.StoppedError](err); ok && told.Logged {
			return &failure{code: exitFailed, cause: err}
		}
		return failed("", "%v", err)
	}
	return nil
}
