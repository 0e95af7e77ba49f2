package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// ownHelp adds the commands help and completion that cobra makes, which would take a
// word that they do not know for none and succeed with a help text in place of a script.
func ownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args = knownCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.Run, cmd.RunE = nil, helpAbout
		}
	}
}

// helpAbout is the help command: args are the words of the command that it is about.
func helpAbout(help *cobra.Command, args []string) error {
	about, rest, err := help.Root().Find(args)
	if err != nil {
		return err
	}
	if err := knownCommand(about, rest); err != nil {
		return err
	}
	about.InitDefaultHelpFlag() // as cobra shows them
	about.InitDefaultVersionFlag()
	return about.Help()
}

// knownCommand refuses what is no command, and says which one may be meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // letters that may be wrong
	near, fix := cmd.SuggestionsFor(args[0]), "see "+cmd.CommandPath()+" --help"
	switch {
	case len(near) > 0:
		fix = "did you mean " + strings.Join(near, " or ") + "?"
	case cmd.HasParent() && cmd.HasAvailableSubCommands():
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		fix = "its commands are " + strings.Join(names, ", ")
	}
	return usage(fix, "there is no command %q of %s", args[0], cmd.CommandPath())
}

// fitHelp breaks the help texts to the lines of a terminal: they are written for wider
// ones.
func fitHelp(cmd *cobra.Command, s style) {
	if !s.fits {
		return
	}
	cmd.Long = fitted(cmd.Long, s.width)
	for _, sub := range cmd.Commands() {
		fitHelp(sub, s)
	}
	if !cmd.HasParent() {
		flags := "FlagUsages"
		for _, kind := range []string{".LocalFlags.", ".InheritedFlags."} {
			cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), kind+flags+" ", fmt.Sprintf("%s%sWrapped %d ", kind, flags, s.width)))
		}
	}
}

// fitted breaks the paragraphs of a text that are too wide; lines that are indented
// stay.
func fitted(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		wide := 0
		for line := range strings.SplitSeq(paragraph, "\n") {
			wide = max(wide, utf8.RuneCountInString(line))
		}
		if wide > width && !strings.Contains("\n"+paragraph, "\n ") {
			paragraphs[i] = strings.TrimRight(wrap(strings.ReplaceAll(paragraph, "\n", " "), "", width), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
