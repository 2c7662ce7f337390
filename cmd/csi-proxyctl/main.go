// SPDX-License-Identifier: Apache-2.0

// Command csi-proxyctl looks at a CSI Proxy agent and its node, and plays the hardware of an emulated node.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // no agent, or the agent refused
	exitUsage  = 2 // a flag, an argument or a command is wrong
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// failure is an error that is not about usage: cobra gives all others.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// run is main with its surroundings as arguments; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(doubleDashes(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "csi-proxyctl: %v\n", err)
	if errors.As(err, new(failure)) {
		return exitFailed
	}
	_, _ = fmt.Fprintf(stderr, "Run %s --help.\n", command.CommandPath())
	return exitUsage
}

// doubleDashes makes --socket-dir of -socket-dir: the agent takes its flags with one dash, and nobody should have to
// remember which of the two wants which.
func doubleDashes(args []string) []string {
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if len(arg) > 2 && arg[0] == '-' && unicode.IsLetter(rune(arg[1])) && unicode.IsLetter(rune(arg[2])) {
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "csi-proxyctl",
		Short: "Look at a CSI Proxy agent and its node",
		Long: strings.TrimSpace(`
csi-proxyctl looks at a CSI Proxy agent and its node, and plays the hardware of an emulated node.

It finds the agent by its socket directory: --socket-dir, or the environment variable CSI_PROXY_SOCKET_DIR.
Flags work with one dash as well. Exit codes: 0 done, 1 failed, 2 wrong usage.`),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          needCommand,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	socketDir := root.PersistentFlags().String("socket-dir", "", "`directory` of the agent's sockets (default $CSI_PROXY_SOCKET_DIR)")
	agent := &connection{socketDir: socketDir}
	root.AddCommand(apisCommand(agent), treeCommand(agent), journalCommand(agent), nodeCommand(agent))
	return root
}

// needCommand is what a command that only groups others runs.
func needCommand(c *cobra.Command, _ []string) error {
	names := make([]string, 0, len(c.Commands()))
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("%s needs a command: %s", c.CommandPath(), strings.Join(names, ", "))
}
