// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

// completionTime is how long a shell waits for a completion. If the node does not answer in that time, nothing is completed.
const completionTime = 2 * time.Second

// An offer finds the values that a shell offers for an argument, each with or without a description after a tab. Errors are
// ignored: a shell has no use for them.
type offer func(ctx context.Context, client *csiproxy.Client, before []string) []string

// offers are the arguments that can be completed, by their names in a command's use.
func (a *connection) offers() map[string]offer {
	return map[string]offer{"DISK": offerDisks, "VOLUME": offerVolumes, "PORTAL": offerPortals, "TARGET": offerTargets, "SHARE": a.offerShares, "NAME": offerServices}
}

// completeArguments makes a command complete its arguments, which have these names, if the first of them can be completed.
func (a *connection) completeArguments(c *cobra.Command, names []string) {
	offers := a.offers()
	if len(names) == 0 || offers[names[0]] == nil {
		return
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(names) || offers[names[len(args)]] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		client := a.client()
		defer func() { _ = client.Close() }()
		return offers[names[len(args)]](ctx, client, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// complete offers fixed values of a flag; it panics if the command has no such flag.
func complete(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// offerServices offers the services that storage needs.
func offerServices(context.Context, *csiproxy.Client, []string) []string {
	return []string{"LanmanWorkstation\tSMB client", "MSiSCSI\tiSCSI initiator", "csiproxy\tthe agent"}
}

func offerDisks(ctx context.Context, client *csiproxy.Client, _ []string) (list []string) {
	for _, number := range diskNumbers(ctx, client) {
		list = append(list, fmt.Sprint(number))
	}
	return list
}

func diskNumbers(ctx context.Context, client *csiproxy.Client) []uint32 {
	r, _ := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	return slices.Sorted(maps.Keys(r.GetDiskIDs()))
}

// offerVolumes offers the ids of the volumes, in the short form that no shell misreads.
func offerVolumes(ctx context.Context, client *csiproxy.Client, _ []string) (list []string) {
	for _, number := range diskNumbers(ctx, client) {
		r, _ := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
		for _, id := range r.GetVolumeIds() {
			list = append(list, fmt.Sprintf("%s\tdisk %d", shortID(id), number))
		}
	}
	return list
}

// offerPortals offers the registered portals.
func offerPortals(ctx context.Context, client *csiproxy.Client, _ []string) (list []string) {
	r, _ := client.ISCSI.ListTargetPortals(ctx, &iscsiapi.ListTargetPortalsRequest{})
	for _, p := range r.GetTargetPortals() {
		list = append(list, net.JoinHostPort(p.GetTargetAddress(), strconv.FormatUint(uint64(p.GetTargetPort()), 10)))
	}
	return list
}

// offerTargets offers the targets of the portal before them.
func offerTargets(ctx context.Context, client *csiproxy.Client, before []string) []string {
	r, _ := client.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalOf(before)})
	return r.GetIqns()
}

// offerShares offers the shares that are mapped, which the admin endpoint knows.
func (a *connection) offerShares(ctx context.Context, _ *csiproxy.Client, _ []string) (list []string) {
	_ = a.call(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.Inspect(ctx, &admin.InspectRequest{})
		for _, m := range r.GetSmbMappings() {
			list = append(list, m.GetRemotePath()+"\t"+m.GetStatus())
		}
		return err
	})
	return list
}
