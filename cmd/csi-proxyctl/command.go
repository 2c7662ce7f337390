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

// An answer is the result of a command: a value for JSON, YAML and JSONPath, and the rows of its table, whose cells are
// separated by tabs. A first row with tabs holds the column heads. The zero answer is that of a command that only
// changes something.
type answer struct {
	value any
	rows  []string
	wide  []string // of -o wide; nil: rows
	names []string // of -o name; nil: the first cell of each row
}

// done returns the empty answer of a call whose response holds nothing.
func done[R any](_ R, err error) (answer, error) { return answer{}, err }

// shown returns a response of the admin endpoint as an answer.
func shown(m proto.Message, err error, rows ...string) (answer, error) {
	return answer{value: message{m}, rows: rows}, err
}

// yesNo returns an answer about an object that is true or false, under its name in JSON.
func yesNo(object, name string, so bool, err error) (answer, error) {
	return answer{value: map[string]bool{name: so}, rows: []string{strconv.FormatBool(so)}, names: []string{object}}, err
}

// plainList returns a list of texts as an answer, under its name in JSON.
func plainList(name string, list []string, err error) (answer, error) {
	return answer{value: map[string][]string{name: append([]string{}, list...)}, rows: list,
		names: append([]string{}, list...)}, err
}

// A storageCall calls the storage API for a command.
type storageCall func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error)

// An adminCall calls the admin endpoint for a command.
type adminCall func(ctx context.Context, client *adminclient.Client, args []string) (answer, error)

// storage makes a command that calls the storage API, with the arguments that its use names. The user sees doing if the
// call takes long.
func (a *connection) storage(c *cobra.Command, doing string, call storageCall) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := a.resolved(c, args)
		if err != nil {
			return err
		}
		return a.runStorage(c, doing, func(ctx context.Context, client *csiproxy.Client) (answer,
			error) {
			return call(ctx, client, args)
		})
	}
	return c
}

// runStorage calls the storage API and prints the answer. A command that changes something only says what it would do
// if it is told to.
func (a *connection) runStorage(c *cobra.Command, doing string,
	call func(context.Context, *csiproxy.Client) (answer, error)) error {
	if dryRun(c) {
		return a.onlySay(c)
	}
	var found answer
	err := a.api(c, doing, func(ctx context.Context, client *csiproxy.Client) (err error) {
		found, err = call(ctx, client)
		return err
	})
	if err != nil {
		return err
	}
	return a.printAnswer(c, found)
}

// admin makes a command that calls the admin endpoint, with the arguments that its use names.
func (a *connection) admin(c *cobra.Command, call adminCall) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := a.resolved(c, args)
		if err != nil {
			return err
		}
		return a.runAdmin(c, func(ctx context.Context, client *adminclient.Client) (answer,
			error) {
			return call(ctx, client, args)
		})
	}
	return c
}

// runAdmin calls the admin endpoint and prints the answer, as runStorage does.
func (a *connection) runAdmin(c *cobra.Command, call func(context.Context, *adminclient.Client) (answer, error)) error {
	if dryRun(c) {
		return a.onlySay(c)
	}
	var found answer
	err := a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) (err error) {
		found, err = call(ctx, client)
		return err
	})
	if err != nil {
		return err
	}
	return a.printAnswer(c, found)
}

// group makes a command that groups others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: needCommand}
	c.AddCommand(commands...)
	return c
}

// needCommand is run by a command that only groups others.
func needCommand(c *cobra.Command, _ []string) error {
	return fmt.Errorf("%s needs a command: %s", c.CommandPath(), strings.Join(subcommandNames(c), ", "))
}

// required marks flags of the command as required; it panics if the command lacks one of them.
func required(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := c.MarkFlagRequired(flag); err != nil {
			panic(err)
		}
	}
}
