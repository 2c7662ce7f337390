// SPDX-License-Identifier: Apache-2.0

// Command csi-proxyctl calls a CSI Proxy agent from the command line, inspects and diagnoses its node, and controls the
// hardware of an emulated node.
//
// It is used rarely and in haste, so it keeps the habits of kubectl and gh, or its error has the next command to type.
// Commands that take something away ask first. No part of a name is taken for the name: a prefix of a serial number may
// match another volume tomorrow.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &answers{Writer: stdout}
	root, a := commands(out)
	root.SetArgs(doubleDashes(args))
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		plainUsages(root)
	}
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err // cobra forgets those of help
	}
	code := exitCode(err)
	switch {
	case err == nil || err.Error() == "":
	case !errors.As(err, new(failure)):
		_, _ = fmt.Fprintf(stderr, "csi-proxyctl: %s\nRun %s --help.\n",
			terminal.Text(strings.TrimPrefix(err.Error(), root.Name()+" ")), command.CommandPath())
	default:
		_, _ = fmt.Fprintf(stderr, "csi-proxyctl: %s\n", terminal.Text(a.text(err)))
	}
	return code
}

// answers is standard output. A failed write to it is a failure, not wrong usage.
type answers struct {
	io.Writer

	err error
}

func (w *answers) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	if err != nil {
		err = failure{fmt.Errorf("cannot write the answer: %w", err)}
		w.err = err
	}
	return n, err
}

// doubleDashes turns -socket-dir into --socket-dir, because the agent's flags have one dash.
func doubleDashes(args []string) []string {
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" || strings.HasPrefix(arg, cobra.ShellCompRequestCmd) {
			return append(out, args[i:]...)
		}
		if len(arg) > 2 && arg[0] == '-' && unicode.IsLetter(rune(arg[1])) && unicode.IsLetter(rune(arg[2])) &&
			(arg[1] != 'o' || new(output).Set(arg[2:]) != nil) { // -ojson
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}

// commands returns the program's command and what all commands share.
func commands(stdout io.Writer) (*cobra.Command, *connection) {
	a := &connection{output: outputTable, takes: map[*cobra.Command][]argument{},
		callers: map[string]*cobra.Command{}}
	a.client = sync.OnceValue(func() *csiproxy.Client {
		return csiproxy.New(csiproxy.Options{SocketDir: a.socketDir, Restart: -1}) // without an agent, calls fail at once
	})
	root := group("csi-proxyctl", "Call a CSI Proxy agent, inspect its node, and diagnose it")
	root.Long = strings.TrimSpace(`
csi-proxyctl calls a CSI Proxy agent, inspects its node, diagnoses it, and controls the hardware of an emulated node. It
works with every agent, whatever versions of the API it serves.

On Windows it finds the agent by its named pipes. On other systems it needs the agent's socket directory, from
--socket-dir or the environment variable CSI_PROXY_SOCKET_DIR. Flags work with one dash as well.

` + exitCodesText)
	root.SilenceErrors, root.SilenceUsage = true, true
	// A version template of our own would link text/template, 3 MB.
	root.Version = buildversion.String()
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		a.running = c
		if a.output == outputNPD && c.Name() != "doctor" {
			return fmt.Errorf("-o %s is for doctor", outputNPD)
		}
		if a.timeout < 0 {
			return fmt.Errorf("--timeout %v is negative; 0 is no limit", a.timeout)
		}
		return nil
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.socketDir, "socket-dir", "", "`directory` of the agent's sockets (default $CSI_PROXY_SOCKET_DIR)")
	flags.VarP(&a.output, "output", "o", "`format`: table, wide, name, json or yaml; npd for doctor")
	flags.DurationVar(&a.timeout, "timeout", 2*time.Minute,
		"limit of the command, a `duration` such as 30s (0: no limit); the agent completes a change that has begun")
	complete(root, "output", "table", "wide", "name", "json", "yaml")
	root.AddGroup(
		&cobra.Group{ID: "look", Title: "Inspect an agent and its node:"},
		&cobra.Group{ID: "api", Title: "Call the storage API:"},
		&cobra.Group{ID: "emulated", Title: "Control an emulated node's hardware:"},
	)
	tree, journal, doctor := treeCommand(a), journalCommand(a), doctorCommand(a)
	tree.SuggestFor, journal.SuggestFor = []string{"get", "describe"}, []string{"logs"} // kubectl's words
	doctor.SuggestFor = []string{"status"}
	for group, commands := range map[string][]*cobra.Command{
		"look":     {apisCommand(a), tree, doctor, journal, policyCommand(a), versionCommand(a)},
		"api":      {diskGroup(a), volumeGroup(a), fsGroup(a), smbGroup(a), iscsiGroup(a), systemGroup(a)},
		"emulated": {nodeCommand(a)},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	root.SetOut(stdout) // where its scripts go is settled here
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Args, completion.RunE = subcommand, func(c *cobra.Command, _ []string) error { return c.Help() }
	return root, a
}
