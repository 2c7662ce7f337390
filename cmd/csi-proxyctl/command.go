// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

// An answer is the result of a command: a value for JSON and YAML, and the rows of its table, whose cells are separated
// by tabs. The first row holds the column heads; a single row is a value without a head. The zero answer prints nothing.
type answer struct {
	value any
	rows  []string
}

// done returns the empty answer of a call whose response holds nothing.
func done[R any](_ R, err error) (answer, error) { return answer{}, err }

// shown returns a response of the admin endpoint as an answer.
func shown(m proto.Message, err error, rows ...string) (answer, error) {
	return answer{message{m}, rows}, err
}

// yesNo returns an answer that is true or false, under its name in JSON.
func yesNo(name string, so bool, err error) (answer, error) {
	return answer{map[string]bool{name: so}, []string{strconv.FormatBool(so)}}, err
}

// plainList returns a list of texts as an answer, under its name in JSON.
func plainList(name string, list []string, err error) (answer, error) {
	return answer{map[string][]string{name: append([]string{}, list...)}, list}, err
}

// storage makes a command that calls the storage API, with the arguments that its use names. The user sees doing if the call
// takes long.
func (a *connection) storage(c *cobra.Command, doing string, call func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error)) *cobra.Command {
	a.takeArguments(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.runStorage(c, doing, func(ctx context.Context, client *csiproxy.Client) (answer, error) { return call(ctx, client, args) })
	}
	return c
}

// runStorage calls the storage API and prints the answer.
func (a *connection) runStorage(c *cobra.Command, doing string, call func(context.Context, *csiproxy.Client) (answer, error)) error {
	var found answer
	err := a.api(c, doing, func(ctx context.Context, client *csiproxy.Client) (err error) {
		found, err = call(ctx, client)
		return err
	})
	if err != nil {
		return err
	}
	return a.print(c, found.value, found.rows...)
}

// admin makes a command that calls the admin endpoint, with as many arguments as its use names.
func (a *connection) admin(c *cobra.Command, call func(ctx context.Context, client *adminclient.Client, args []string) (answer, error)) *cobra.Command {
	if c.Args == nil {
		c.Args = cobra.ExactArgs(len(placeholders(c.Use)))
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.runAdmin(c, func(ctx context.Context, client *adminclient.Client) (answer, error) { return call(ctx, client, args) })
	}
	return c
}

// runAdmin calls the admin endpoint and prints the answer.
func (a *connection) runAdmin(c *cobra.Command, call func(context.Context, *adminclient.Client) (answer, error)) error {
	var found answer
	err := a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) (err error) {
		found, err = call(ctx, client)
		return err
	})
	if err != nil {
		return err
	}
	return a.print(c, found.value, found.rows...)
}

// group makes a command that groups others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: needCommand}
	c.AddCommand(commands...)
	return c
}

// needCommand is run by a command that only groups others.
func needCommand(c *cobra.Command, _ []string) error {
	names := make([]string, 0, len(c.Commands()))
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("%s needs a command: %s", c.CommandPath(), strings.Join(names, ", "))
}

// required marks flags of the command as required; it panics if the command lacks one of them.
func required(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := c.MarkFlagRequired(flag); err != nil {
			panic(err)
		}
	}
}
