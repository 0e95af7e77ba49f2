package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// asking gives a command the flags of those that talk to a router.
func (p *program) asking(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.admin, "admin", "", "`URL` of the router's admin listener (default FAIRLEAD_ADMIN, else http://127.0.0.1:3035)")
	p.jsonFlag(cmd)
}

func (p *program) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.json, "json", false, "JSON for programs")
}

func (p *program) explainEntrypoint(context.Context, string) error {
	return usage("", "x")
}
