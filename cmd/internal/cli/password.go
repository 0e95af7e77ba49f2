package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fairlead/api"
	"fairlead/router/route"
)

func (p *program) hashPasswordCommand() *cobra.Command {
	var useBcrypt bool
	var name, role string
	cmd := &cobra.Command{
		Use:   "hash-password",
		Short: "The hash of a password, for admin.users",
		Long: `Asks for a password on the terminal, without showing it, or reads one line from
standard input. Prints its hash, and on standard error the lines of the configuration.

The hash is argon2id unless --bcrypt is given. In a compose file each $ is written $$.`,
		Example: "  fairlead hash-password --name ops --role admin\n  printf %s \"$PASSWORD\" | fairlead hash-password",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.hashPassword(cmd.Context(), name, api.Role(role), useBcrypt)
		},
	}
	cmd.Flags().BoolVar(&useBcrypt, "bcrypt", false, "bcrypt instead of argon2id; it takes 72 bytes at most")
	cmd.Flags().StringVar(&name, "name", "NAME", "`NAME` of the user in the printed lines")
	cmd.Flags().StringVar(&role, "role", string(api.RoleReadOnly), "`ROLE` of the user in the printed lines: admin or read-only")
	return cmd
}

func (p *program) hashPassword(ctx context.Context, name string, role api.Role, useBcrypt bool) error {
	if role != api.RoleAdmin && role != api.RoleReadOnly {
		return usage("give --role admin or --role read-only", "there is no role %s", strconv.Quote(string(role)))
	}
	password, err := p.readPassword(ctx)
	if err != nil {
		return err
	}
	hash, err := api.HashPassword(password, useBcrypt)
	if err != nil {
		return failed("", "%v", err)
	}
	if _, err := api.CheckUser(api.User{Name: name, Role: role, PasswordHash: route.Secret(hash)}); err != nil {
		return usage("choose another --name", "the user %v", err)
	}
	p.say("%s", hash)
	_, _ = fmt.Fprintf(p.Err, "%s\n", p.style(p.Err).dim(strings.Join([]string{
		"# in the configuration:", "admin:", "  users:",
		fmt.Sprintf("    - {name: %s, role: %s, passwordHash: %q}", strconv.Quote(name), role, hash),
	}, "\n")))
	return nil
}

// readPassword asks on a terminal, twice, or takes the one line of the input.
func (p *program) readPassword(ctx context.Context) (string, error) {
	file, ok := p.In.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return lineOfInput(p.In)
	}
	first, err := p.askHidden(ctx, file, "Password: ")
	if err != nil {
		return "", err
	}
	second, err := p.askHidden(ctx, file, "Again: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", failed("", "the two passwords differ")
	}
	return first, nil
}

// askHidden reads a line without showing it. The terminal shows again what is typed
// after it, also when it is interrupted.
func (p *program) askHidden(ctx context.Context, file *os.File, prompt string) (string, error) {
	fd := int(file.Fd())
	state, err := term.GetState(fd)
	if err != nil {
		return "", failed("", "the terminal cannot be asked: %v", err)
	}
	_, _ = io.WriteString(p.Err, prompt)
	type typed struct {
		line []byte
		err  error
	}
	done := make(chan typed, 1)
	go func() { // it cannot be interrupted; the program ends without it
		line, err := term.ReadPassword(fd)
		done <- typed{line, err}
	}()
	select {
	case <-ctx.Done():
		_ = term.Restore(fd, state)
		_, _ = io.WriteString(p.Err, "\n")
		return "", failed("", "interrupted")
	case t := <-done:
		_, _ = io.WriteString(p.Err, "\n")
		if t.err != nil {
			return "", failed("", "no password was typed: %v", t.err)
		}
		return string(t.line), nil
	}
}

// lineOfInput reads a password that is the whole input, one end of line aside.
func lineOfInput(in io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, api.MaxPassword+3))
	if err != nil {
		return "", failed("", "the input cannot be read: %v", err)
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if strings.ContainsAny(line, "\r\n\x00") {
		return "", failed("send the password alone", "the input has more than one line")
	}
	return line, nil
}
