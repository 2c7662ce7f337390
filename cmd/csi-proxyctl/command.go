// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"

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
	list = append([]string{}, list...)
	return answer{value: map[string][]string{name: list}, rows: list, names: list}, err
}

// A storageCall calls the storage API for a command.
type storageCall func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error)

// An adminCall calls the admin endpoint for a command.
type adminCall func(ctx context.Context, client *adminclient.Client, args []string) (answer, error)

// storage makes a command call the storage API.
func (a *connection) storage(c *cobra.Command, call storageCall) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error { return a.runStorage(c, args, call) }
	return c
}

// runStorage calls the storage API, unless the change is only to be shown or is not confirmed, and prints the answer.
func (a *connection) runStorage(c *cobra.Command, args []string, call storageCall) error {
	return a.run(c, args, func(args []string, found *answer) error {
		return a.api(c, func(ctx context.Context, client *csiproxy.Client) (err error) {
			*found, err = call(ctx, client, args)
			return err
		})
	})
}

// admin makes a command call the admin endpoint.
func (a *connection) admin(c *cobra.Command, call adminCall) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error { return a.runAdmin(c, args, call) }
	return c
}

// runAdmin calls the admin endpoint as runStorage does the storage API.
func (a *connection) runAdmin(c *cobra.Command, args []string, call adminCall) error {
	return a.run(c, args, func(args []string, found *answer) error {
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) (err error) {
			*found, err = call(ctx, client, args)
			return err
		})
	})
}

func (a *connection) run(c *cobra.Command, args []string, call func(args []string, found *answer) error) error {
	args, err := a.resolved(c, args)
	if err != nil {
		return err
	}
	if goOn, err := a.confirmed(c, args); !goOn || err != nil {
		return err
	}
	var found answer
	if err := call(args, &found); err != nil {
		return err
	}
	return a.printAnswer(c, found)
}

// group makes a command that groups others, and alone prints its help.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: subcommand, SuggestionsMinimumDistance: 2,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

// required marks flags of the command as required; it panics if the command lacks one of them.
func required(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := c.MarkFlagRequired(flag); err != nil {
			panic(err)
		}
	}
}
