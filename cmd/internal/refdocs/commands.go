package refdocs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/cmd/internal/cli"
)

// Commands is the reference of the command line.
func Commands() string {
	var b strings.Builder
	b.WriteString(generated + "# Commands\n\nWhat `fairlead COMMAND --help` says, in one page.\n")
	root := cli.Tree()
	b.WriteString("\n| Command | Does |\n|---|---|\n")
	walk(root, func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
		b.WriteString(row("["+path+"](#"+anchor(c.CommandPath())+")", c.Short))
	})
	_, codes, _ := strings.Cut(root.Long, "Exit codes: ")
	b.WriteString("\n## Exit codes\n\n" + paragraphs(codes))
	walk(root, func(c *cobra.Command) { describe(&b, c) })
	return b.String()
}

// walk visits the commands below c that people are meant to use, in the order of help. A
// group is only a heading for its commands, but the shells of completion are one matter.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		switch {
		case !sub.IsAvailableCommand() || sub.Name() == "help":
		case sub.HasAvailableSubCommands() && sub.Name() != "completion":
			walk(sub, visit)
		default:
			visit(sub)
		}
	}
}

func describe(b *strings.Builder, c *cobra.Command) {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", c.CommandPath(), paragraphs(text))
	if c.Runnable() && !c.HasAvailableSubCommands() {
		b.WriteString("    " + c.UseLine() + "\n")
	}
	for _, sub := range c.Commands() {
		b.WriteString("    " + sub.UseLine() + "\n")
	}
	if c.Example != "" {
		b.WriteString("\nExamples:\n\n")
		for line := range strings.Lines(c.Example) {
			b.WriteString("    " + strings.TrimSpace(line) + "\n")
		}
	}
	var rows strings.Builder
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			rows.WriteString(flagRow(f))
		}
	})
	if rows.Len() > 0 {
		b.WriteString("\n| Flag | Value | Default | Meaning |\n|---|---|---|---|\n" + rows.String())
	}
}

func flagRow(f *pflag.Flag) string {
	value, meaning := pflag.UnquoteUsage(f)
	name := "`--" + f.Name + "`"
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	fallback := f.DefValue
	if before, after, found := strings.Cut(meaning, " (default"); found {
		// Defaults that a setting gives stand in the text.
		meaning, fallback = before, strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(after, ": "), ")"))
	} else if fallback == "false" || fallback == "[]" {
		fallback = ""
	}
	return row(name, value, fallback, meaning)
}

// paragraphs are the words of a help text as Markdown, which needs no line breaks of its own.
func paragraphs(text string) string {
	return strings.NewReplacer("<", "\\<", "*", "\\*").Replace(strings.TrimSpace(text)) + "\n"
}

// anchor is the fragment that a heading gets.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }
