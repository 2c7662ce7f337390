// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
)

// An element of a list of a document, by its keys.
type element = map[string]any

// A verb of the control of an emulated node, with its document and the answer's. Like a method expression, it takes the
// client first.
type verb = method[nodeClient, *structpb.Struct, *structpb.Struct]

//nolint:revive // the client is first
func add(c nodeClient, ctx context.Context, d *structpb.Struct, o ...grpc.CallOption) (*structpb.Struct, error) {
	r, err := c.Add(ctx, &nodeapi.AddRequest{Document: d}, o...)
	return r.GetDocument(), err
}

//nolint:revive // the client is first
func modify(c nodeClient, ctx context.Context, d *structpb.Struct, o ...grpc.CallOption) (*structpb.Struct, error) {
	_, err := c.Change(ctx, &nodeapi.ChangeRequest{Document: d}, o...)
	return nil, err
}

//nolint:revive // the client is first
func remove(c nodeClient, ctx context.Context, d *structpb.Struct, o ...grpc.CallOption) (*structpb.Struct, error) {
	r, err := c.Remove(ctx, &nodeapi.RemoveRequest{Document: d}, o...)
	return r.GetDocument(), err
}

// controls makes a command give a verb one element of a list, and print the answer of show, or nothing if show is nil.
func (a *connection) controls(c *cobra.Command, do verb, list string, of func(args []string) (element, error),
	show func(*structpb.Struct) (answer, error)) *cobra.Command {
	return a.runs(c, func(ctx context.Context, args []string) (found answer, err error) {
		one, err := of(args)
		if err != nil {
			return found, err
		}
		document, err := invoke(ctx, a, do, nodeapi.Document(list, one))
		if err == nil && show != nil {
			found, err = show(document)
		}
		return found, err
	})
}

// part gets a part of the node.
func part[T any](ctx context.Context, a *connection, name string) (T, error) {
	return partAt[T](ctx, a, name, "")
}

// partAt gets a part of the node that is of a path.
func partAt[T any](ctx context.Context, a *connection, name, path string) (value T, err error) {
	r, err := invoke(ctx, a, nodeClient.Get, &nodeapi.GetRequest{Part: name, WindowsPath: path})
	if err != nil {
		return value, err
	}
	return nodeapi.Part[T](r.GetDocument(), name)
}

// atPath returns a command that prints a part of the node that is of a path.
func atPath[T any](a *connection, name, short, part string, show func(T) answer) *cobra.Command {
	return a.runs(a.command(name, short, "WINPATH"), func(ctx context.Context, args []string) (answer, error) {
		value, err := partAt[T](ctx, a, part, args[0])
		return show(value), err
	})
}

// text returns what shows a text, under a name.
func text(name string) func(string) answer {
	return func(value string) answer { return answer{value: element{name: value}, rows: []string{value}} }
}

// flagged returns the element that a command's flags describe, by the key of each flag.
func flagged(flags *pflag.FlagSet, keys map[string]string) element {
	one := element{}
	flags.Visit(func(f *pflag.Flag) {
		key, is := keys[f.Name]
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case !is:
		case isList:
			one[key] = list.GetSlice()
		case f.Value.Type() == "string":
			one[key] = f.Value.String()
		default: // a number, or a truth
			one[key] = json.RawMessage(f.Value.String())
		}
	})
	return one
}

// with returns an element with the keys of both.
func with(one, more element) element {
	both := element{}
	maps.Copy(both, one)
	maps.Copy(both, more)
	return both
}

// named returns what makes the element that a command's argument names by a key, with other keys.
func named(key string, more element) func([]string) (element, error) {
	return func(args []string) (element, error) { return with(more, element{key: args[0]}), nil }
}
