package cli

import (
	"bytes"

	"github.com/spf13/cobra"
)

// Tree returns the program's commands with their help and flags, for the reference in
// docs. They are not meant to be run.
func Tree() *cobra.Command {
	var nowhere bytes.Buffer
	return (&program{Streams: Streams{In: &nowhere, Out: &nowhere, Err: &nowhere}}).root()
}
