// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// apiCommand makes a command call the storage API. Doing is what the user sees while it takes long.
func apiCommand(a *connection, c *cobra.Command, doing string, call func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.api(c, doing, func(ctx context.Context, client *csiproxy.Client) error { return call(ctx, c, client, args) })
	}
	return c
}

// diskArgument is an argument that is the number of a disk.
func diskArgument(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no disk number, such as 1; csi-proxyctl disk list lists the disks", text)
	}
	return uint32(n), nil
}

// numberedDisk checks, before anything is called, that the first of n arguments is the number of a disk.
func numberedDisk(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(n)(c, args); err != nil {
			return err
		}
		_, err := diskArgument(args[0])
		return err
	}
}

// portalFirst checks, before anything is called, that the first of n arguments is an iSCSI portal.
func portalFirst(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(n)(c, args); err != nil {
			return err
		}
		_, _, err := parsePortal(args[0])
		return err
	}
}

// yesNo is an answer that is true or false, under the name that it has in JSON.
func (a *connection) yesNo(c *cobra.Command, name string, so bool) error {
	return a.print(c, map[string]bool{name: so}, strconv.FormatBool(so))
}

// shortID is a volume's id without what shells misread: Volume{GUID}.
func shortID(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(id, `\\?\`), `\`)
}
