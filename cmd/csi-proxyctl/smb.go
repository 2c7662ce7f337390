// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func smbCommand(a *connection) *cobra.Command {
	smb := &cobra.Command{Use: "smb", Short: "Change file servers, their shares and accounts, and drop sessions", Args: cobra.NoArgs, RunE: needCommand}
	smb.AddCommand(
		setPasswordCommand(a),
		smbServerCommand(a, "stop", "Stop a file server; what is open there is lost", false),
		smbServerCommand(a, "start", "Start a file server again", true),
		simpleCommand(a, "drop SERVER", "Let a file server close the node's sessions; what is open there is lost", "  csi-proxyctl node smb drop fs.emulated", 1,
			func(ctx context.Context, client *adminclient.Client, args []string) error {
				_, err := client.DropSMBSessions(ctx, &admin.DropSMBSessionsRequest{Server: args[0]})
				return err
			}),
		addShareCommand(a),
		simpleCommand(a, "remove-share SERVER SHARE", "Take a share away; its files are kept", "  csi-proxyctl node smb remove-share fs.emulated share", 2,
			func(ctx context.Context, client *adminclient.Client, args []string) error {
				_, err := client.RemoveSMBShare(ctx, &admin.RemoveSMBShareRequest{Server: args[0], Share: args[1]})
				return err
			}),
		addUserCommand(a),
		simpleCommand(a, "remove-user USER", "Take an account away; its sessions are refused at once", "  csi-proxyctl node smb remove-user csi", 1,
			func(ctx context.Context, client *adminclient.Client, args []string) error {
				_, err := client.RemoveSMBUser(ctx, &admin.RemoveSMBUserRequest{User: args[0]})
				return err
			}),
	)
	return smb
}

func setPasswordCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "set-password --user USER --password-file FILE",
		Short: "Change the password of an account; sessions with the old one are refused at once",
		Long: `Change the password of an account; sessions with the old one are refused at once.

The password is read from a file, or from standard input with -, so that it is in no list of processes. One line end
after it is not part of it.`,
		Example: "  csi-proxyctl node smb set-password --user csi --password-file -",
		Args:    cobra.NoArgs,
	}
	user := c.Flags().String("user", "", "`name` of the account, with or without a domain")
	file := c.Flags().String("password-file", "", "`file` with the new password; -: standard input")
	required(c, "user")
	required(c, "password-file")
	c.RunE = func(c *cobra.Command, _ []string) error {
		password, err := readPassword(*file, c.InOrStdin())
		if err != nil {
			return failure{err}
		}
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			_, err := client.SetSMBPassword(ctx, &admin.SetSMBPasswordRequest{User: *user, Password: password})
			return err
		})
	}
	return c
}

func addShareCommand(a *connection) *cobra.Command {
	var users []string
	c := simpleCommand(a, "add-share SERVER SHARE", "Add a share to a file server, which is made when it is missing", "  csi-proxyctl node smb add-share fs.emulated backup --user csi", 2,
		func(ctx context.Context, client *adminclient.Client, args []string) error {
			_, err := client.AddSMBShare(ctx, &admin.AddSMBShareRequest{Server: args[0], Share: args[1], Users: users})
			return err
		})
	c.Flags().StringArrayVar(&users, "user", nil, "`account` that may use it; may be repeated (default: all)")
	return c
}

func addUserCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:     "add-user --user USER --password-file FILE",
		Short:   "Add an account, which all file servers know",
		Example: "  csi-proxyctl node smb add-user --user alice --domain CORP --password-file -",
		Args:    cobra.NoArgs,
	}
	user := c.Flags().String("user", "", "`name` of the account, without a domain")
	domains := c.Flags().StringArray("domain", nil, "`domain` before the name, besides the name alone; may be repeated")
	file := c.Flags().String("password-file", "", "`file` with the password, one line; -: standard input")
	required(c, "user")
	required(c, "password-file")
	c.RunE = func(c *cobra.Command, _ []string) error {
		password, err := readPassword(*file, c.InOrStdin())
		if err != nil {
			return failure{err}
		}
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			_, err := client.AddSMBUser(ctx, &admin.AddSMBUserRequest{User: *user, Domains: *domains, Password: password})
			return err
		})
	}
	return c
}

// maxPassword is far more than a password has.
const maxPassword = 4096

// readPassword reads a password from a file, or from stdin for "-". Its errors never quote it.
func readPassword(file string, stdin io.Reader) (string, error) {
	from := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("cannot read the password: %w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the password: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case password == "":
		return "", errors.New("the password is empty")
	case len(text) > maxPassword || !utf8.ValidString(password) || strings.ContainsAny(password, "\x00\n"):
		return "", fmt.Errorf("the password is not one line of at most %d bytes in UTF-8", maxPassword)
	}
	return password, nil
}

func smbServerCommand(a *connection, name, short string, running bool) *cobra.Command {
	return &cobra.Command{
		Use:     name + " SERVER",
		Short:   short,
		Example: "  csi-proxyctl node smb " + name + " fs.emulated",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				_, err := client.SetSMBServerState(ctx, &admin.SetSMBServerStateRequest{Server: args[0], Running: running})
				return err
			})
		},
	}
}
