package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker (-X), which can only reach a package variable; nothing
// writes to it at run time. Builds without it report what the toolchain recorded.
var version string

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Version of this program",
		Example: "  fairlead version\n  fairlead version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if p.json {
				return p.writeJSON(map[string]string{"version": buildVersion(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			_, err := fmt.Fprint(p.Out, versionLine())
			return err
		},
	}
	p.jsonFlag(cmd)
	return cmd
}

func versionLine() string {
	return fmt.Sprintf("fairlead %s (%s, %s/%s)\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildVersion is the linker's word, else the revision that was built, else "dev".
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	return recorded(info)
}

func recorded(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if len(revision) > 12 {
		revision = revision[:12]
	}
	if revision != "" && settings["vcs.modified"] == "true" {
		revision += "-dirty"
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" && revision == "" {
		return info.Main.Version
	}
	return cmp.Or(revision, "dev")
}
