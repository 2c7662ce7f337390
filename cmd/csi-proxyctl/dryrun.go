// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

const (
	dryRunFlag  = "dry-run"
	dryRunUsage = "only print what would be done, and to what"
)

// changes gives commands that change something, and take nothing away, the flag --dry-run.
func changes(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.Flags().Bool(dryRunFlag, false, dryRunUsage)
	}
	return commands
}

// change is changes for one command.
func change(c *cobra.Command) *cobra.Command { return changes(c)[0] }

// dryRun reports whether a command is to change nothing. A deed, which looks and asks first, never gets so far with the
// flag.
func dryRun(c *cobra.Command) bool {
	f := c.Flags().Lookup(dryRunFlag)
	return f != nil && f.Value.String() == "true"
}

// onlySay prints what a command would do. It fails if the agent, or an object that the command names, is not there.
func (a *connection) onlySay(c *cobra.Command) error {
	d := deed{what: inOneLine(c), look: a.lookAtArguments(c)}
	if a.onEmulatedNode(c) {
		err := a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			_, err := client.GetClock(ctx, &admin.GetClockRequest{})
			return err
		})
		if err == nil {
			err = a.findArguments(c)
		}
		if err != nil {
			return err
		}
		return a.printPlan(c, d, []string{})
	}
	found, err := a.lookAt(c, d)
	if err != nil {
		return err
	}
	return a.printPlan(c, d, found)
}

// onEmulatedNode reports whether a command plays an emulated node's hardware.
func (a *connection) onEmulatedNode(c *cobra.Command) bool {
	return strings.HasPrefix(c.CommandPath(), c.Root().Name()+" node ")
}

// onNode are the arguments of which an emulated node knows all that there are, and what it calls them.
var onNode = map[string]string{
	"DISK": "disk", "SERVICE": "service", "SWITCH": "switch", "SERVER": "file server", "SHARE": "share", "ID": "fault",
	"PORTAL": "portal", "TARGET": "session with",
}

// findArguments fails if an argument names what the emulated node does not have. A command that adds something may name
// a new one.
func (a *connection) findArguments(c *cobra.Command) error {
	if strings.HasPrefix(c.Name(), "add") {
		return nil
	}
	args, err := a.resolved(c, c.Flags().Args())
	if err != nil {
		return err
	}
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	for i, want := range arguments(c.Use) {
		what := onNode[want.name]
		if i >= len(args) || what == "" {
			continue
		}
		names := trimmed(a.offered(ctx, want.name, args[:i]))
		if !slices.ContainsFunc(names,
			func(name string) bool { return strings.EqualFold(name, offeredAs(want.name, args[i])) }) {
			text := "there is no " + what + " " + args[i]
			return failure{&adminclient.Error{Text: text, Err: status.Error(codes.NotFound, text)}}
		}
	}
	return nil
}

// inOneLine returns what a command does and to what: its description, its arguments and its flags, but for secrets, of
// which it knows only files.
func inOneLine(c *cobra.Command) string {
	what := []rune(strings.SplitN(c.Short, ";", 2)[0])
	what[0] = unicode.ToLower(what[0])
	var parts []string
	for i, want := range arguments(c.Use) {
		if i < c.Flags().NArg() {
			parts = append(parts, want.name+" "+c.Flags().Arg(i))
		}
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != dryRunFlag && c.InheritedFlags().Lookup(f.Name) == nil {
			parts = append(parts, "--"+f.Name+" "+f.Value.String())
		}
	})
	if len(parts) == 0 {
		return string(what)
	}
	return string(what) + ": " + strings.Join(parts, ", ")
}

// lookAtArguments describes the objects that a command's arguments name.
func (a *connection) lookAtArguments(c *cobra.Command) func(context.Context, *csiproxy.Client) ([]string, error) {
	return func(ctx context.Context, client *csiproxy.Client) (found []string, err error) {
		args, err := a.resolved(c, c.Flags().Args())
		for i, want := range arguments(c.Use) {
			if i >= len(args) || err != nil {
				break
			}
			var lines []string
			switch want.name {
			case "DISK":
				lines, err = describeDisk(ctx, client, diskOf(args[i:]))
			case "VOLUME":
				lines, err = describeVolume(ctx, client, args[i])
			case "PATH":
				lines, err = describePath(ctx, client, args[i])
			case "SERVICE":
				lines, err = describeService(ctx, client, args[i])
			}
			found = append(found, lines...)
		}
		return found, err
	}
}
