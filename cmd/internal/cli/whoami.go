package cli

import (
	"github.com/spf13/cobra"

	"fairlead/cmd/internal/whoami"
)

// whoamiCommand is the workload of the demo and the tests: an HTTP server that says
// who answered. It has flags of its own.
func (p *program) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "whoami",
		Short:              "An HTTP server that says who answered, for demos and tests",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			p.exit = whoami.Main(args, p.Out, p.Err, p.lookup)
			return nil
		},
	}
}
