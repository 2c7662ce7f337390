// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
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
	"github.com/kubernetes-csi/csi-proxy/internal/printable"
)

const (
	dryRunFlag = "dry-run"
	yesFlag    = "yes"
	effect     = "effect" // of a command that takes something away, among its annotations
)

// change gives a command that changes something, and takes nothing away, the flag --dry-run.
func change(c *cobra.Command) *cobra.Command {
	c.Flags().Bool(dryRunFlag, false, "only print what would be done, and to what")
	return c
}

// asks is change for a command that takes something away. It shows what to, says what that means, and asks.
func asks(c *cobra.Command, what string) *cobra.Command {
	change(c).Flags().BoolP(yesFlag, "y", false, "do it without asking")
	c.MarkFlagsMutuallyExclusive(dryRunFlag, yesFlag)
	c.Annotations = map[string]string{effect: what}
	return c
}

// confirmed reports whether a command is to do what it is for: not if it is a change that is only to be shown, or that
// the user does not want.
func (a *connection) confirmed(c *cobra.Command, args []string) (bool, error) {
	is := func(flag string) bool { f := c.Flags().Lookup(flag); return f != nil && f.Value.String() == "true" }
	if !is(dryRunFlag) && (c.Annotations[effect] == "" || is(yesFlag)) {
		return true, nil
	}
	found, err := a.lookAt(c, args)
	if err != nil {
		return false, err
	}
	what, means := a.inOneLine(c), c.Annotations[effect]
	if is(dryRunFlag) {
		rows := append([]string{"Would " + what + "."}, found...)
		if means != "" {
			rows = append(rows, means)
		}
		return false, a.print(c, map[string]any{"wouldDo": what, "found": found, effect: means}, rows...)
	}
	in := c.InOrStdin()
	if !isTerminal(in) { // the question would get no answer
		return false, failure{errNotConfirmed}
	}
	for _, line := range append(found, means) {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), printable.Text(line))
	}
	_, _ = fmt.Fprintf(c.ErrOrStderr(), "%s? [y/N] ", printable.Text(strings.ToUpper(what[:1])+what[1:]))
	answer, _ := bufio.NewReader(in).ReadString('\n') // an end without an answer is none
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return false, failure{errNotConfirmed}
	}
	return true, nil
}

// lookAt describes what a change would affect. It fails if the agent, or an object that the command names, is not
// there. A command that takes something away takes it from the last.
func (a *connection) lookAt(c *cobra.Command, args []string) (lines []string, err error) {
	lines = []string{}
	takes := a.takes[c][:len(args)]
	if a.onEmulatedNode(c) {
		return lines, a.presentOnNode(c, args)
	}
	err = a.api(c, func(ctx context.Context, client *csiproxy.Client) error {
		if _, err := client.Connect(ctx); err != nil {
			return err
		}
		for i, of := range takes {
			if of.describe == nil || c.Annotations[effect] != "" && i < len(takes)-1 {
				continue
			}
			more, err := of.describe(ctx, a, client, args[:i+1])
			if err != nil {
				return err
			}
			lines = append(lines, more...)
		}
		return nil
	})
	return lines, err
}

// onEmulatedNode reports whether a command plays an emulated node's hardware.
func (a *connection) onEmulatedNode(c *cobra.Command) bool {
	return strings.HasPrefix(c.CommandPath(), c.Root().Name()+" node ")
}

// presentOnNode fails if there is no emulated node, or if it does not have what an argument names. A command that adds
// something may name a new one.
func (a *connection) presentOnNode(c *cobra.Command, args []string) error {
	err := a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
		_, err := client.ListFaults(ctx, &admin.ListFaultsRequest{})
		return err
	})
	if err != nil || strings.HasPrefix(c.Name(), "add") {
		return err
	}
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	for i, of := range a.takes[c][:len(args)] {
		if of.onNode == "" {
			continue
		}
		typed, names := of.names(ctx, a, args[:i+1])
		if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, typed) }) {
			text := "there is no " + of.onNode + " " + args[i]
			return failure{&adminclient.Error{Text: text, Err: status.Error(codes.NotFound, text)}}
		}
	}
	return nil
}

// inOneLine returns what a command does and to what: its description, its arguments and its flags, but for secrets, of
// which it knows only files.
func (a *connection) inOneLine(c *cobra.Command) string {
	what := []rune(strings.SplitN(c.Short, ";", 2)[0])
	what[0] = unicode.ToLower(what[0])
	var parts []string
	for i, arg := range c.Flags().Args() {
		parts = append(parts, a.takes[c][i].name+" "+arg)
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != dryRunFlag && f.Name != yesFlag && c.InheritedFlags().Lookup(f.Name) == nil {
			parts = append(parts, "--"+f.Name+" "+f.Value.String())
		}
	})
	if len(parts) == 0 {
		return string(what)
	}
	return string(what) + ": " + strings.Join(parts, ", ")
}
