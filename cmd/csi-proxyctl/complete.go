// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

// completionTime is how long a shell waits for a completion. A node that does not answer in that time completes nothing.
const completionTime = 2 * time.Second

// completions are what a shell offers for an argument, each with a description after a tab or without one.
type completions = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// complete offers fixed values of a flag; it panics when the command has no such flag.
func complete(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// completeServices offers the services that storage needs.
func completeServices(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"LanmanWorkstation\tSMB client", "MSiSCSI\tiSCSI initiator", "csiproxy\tthe agent"}, cobra.ShellCompDirectiveNoFileComp
}

// offer asks the API for what to offer as the argument at a position.
func (a *connection) offer(position int, ask func(context.Context, *csiproxy.Client, []string) []string) completions {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) != position {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		client := a.client()
		defer func() { _ = client.Close() }()
		return ask(ctx, client, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeDisks offers the numbers of the disks.
func (a *connection) completeDisks(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.offer(0, func(ctx context.Context, client *csiproxy.Client, _ []string) []string {
		var list []string
		for _, number := range diskNumbers(ctx, client) {
			list = append(list, fmt.Sprint(number))
		}
		return list
	})(c, args, typed)
}

func diskNumbers(ctx context.Context, client *csiproxy.Client) []uint32 {
	r, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return nil // a shell has no use for the reason
	}
	return slices.Sorted(maps.Keys(r.GetDiskIDs()))
}

// completeVolumes offers the ids of the volumes, in the short form that no shell misreads.
func (a *connection) completeVolumes(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.offer(0, func(ctx context.Context, client *csiproxy.Client, _ []string) []string {
		var list []string
		for _, number := range diskNumbers(ctx, client) {
			r, err := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
			if err != nil {
				continue // nothing on it
			}
			for _, id := range r.GetVolumeIds() {
				list = append(list, fmt.Sprintf("%s\tdisk %d", shortID(id), number))
			}
		}
		return list
	})(c, args, typed)
}

// completePortals offers the registered portals.
func (a *connection) completePortals(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.offer(0, func(ctx context.Context, client *csiproxy.Client, _ []string) []string {
		r, err := client.ISCSI.ListTargetPortals(ctx, &iscsiapi.ListTargetPortalsRequest{})
		if err != nil {
			return nil // a shell has no use for the reason
		}
		var list []string
		for _, p := range r.GetTargetPortals() {
			list = append(list, portalText(p))
		}
		return list
	})(c, args, typed)
}

// completeTargets offers the portals, and after one its targets.
func (a *connection) completeTargets(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completePortals(c, args, typed)
	}
	return a.offer(1, func(ctx context.Context, client *csiproxy.Client, args []string) []string {
		r, err := client.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalOf(args[0])})
		if err != nil {
			return nil // a shell has no use for the reason
		}
		return r.GetIqns()
	})(c, args, typed)
}

// completeShares offers the shares that are mapped, which the admin endpoint knows.
func (a *connection) completeShares(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	_ = a.call(ctx, func(ctx context.Context, client *adminclient.Client) error { // a shell has no use for the reason
		r, err := client.Inspect(ctx, &admin.InspectRequest{})
		for _, m := range r.GetSmbMappings() {
			list = append(list, m.GetRemotePath()+"\t"+m.GetStatus())
		}
		return err
	})
	return list, cobra.ShellCompDirectiveNoFileComp
}
