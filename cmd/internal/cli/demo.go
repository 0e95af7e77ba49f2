package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fairlead/cmd/internal/app"
	"fairlead/cmd/internal/config"
	"fairlead/cmd/internal/demo"
)

func (p *program) demoCommand() *cobra.Command {
	var http, admin, level string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Everything on one machine without Docker: a router and backends, some of them sick",
		Long: `Runs a router, its dashboard and embedded backends in one process, and prints what to
look at and what to try. It needs neither Docker nor a configuration, listens on this
machine only and leaves nothing behind. Ctrl-C ends it.`,
		Example: `  fairlead demo
  fairlead demo --http 127.0.0.1:9000 --no-traffic`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := config.Default().Log
			log.Level = level
			return stopped(demo.Run(cmd.Context(), demo.Config{
				HTTP: http, Admin: admin, Traffic: !quiet, Program: calledAs(os.Args[0]), Version: buildVersion(), Out: p.Out,
				Logs: app.NewLogs(p.Err, log, terminal(p.Err), p.style(p.Err).colour),
			}))
		},
	}
	cmd.Flags().StringVar(&http, "http", "", "`address` of the router (default 127.0.0.1:8080, or any free port)")
	cmd.Flags().StringVar(&admin, "admin", "", "`address` of the dashboard (default 127.0.0.1:3035, or any free port)")
	cmd.Flags().StringVar(&level, "log-level", "error", "least `severity` of the log on standard error: debug, info, warn, error, off")
	cmd.Flags().BoolVar(&quiet, "no-traffic", false, "send no requests of its own")
	return cmd
}

// calledAs is how a person calls the program again from the same folder.
func calledAs(arg0 string) string {
	if strings.Contains(arg0, "/") && !strings.HasPrefix(arg0, os.TempDir()) {
		return arg0
	}
	return "fairlead"
}
