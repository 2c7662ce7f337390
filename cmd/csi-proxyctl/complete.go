// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/faulttext"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/policy"
)

// completionTime is how long a shell waits for a completion. If the node does not answer in that time, nothing is
// completed.
const completionTime = 2 * time.Second

// completeArguments completes a command's arguments.
func (a *connection) completeArguments(c *cobra.Command, args []string, _ string) ([]string,
	cobra.ShellCompDirective) {
	takes := a.takes[c]
	if len(args) >= len(takes) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	next := takes[len(args)]
	if next.file {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if next.complete == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	list := next.complete(ctx, a, args)
	if c.Name() == "unmap" {
		list = slices.DeleteFunc(list, func(share string) bool { return strings.HasSuffix(share, notMapped) })
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// complete completes fixed values of a flag; it panics if the command has no such flag.
func complete(c *cobra.Command, flag string, values ...string) {
	completeBy(c, flag, func() []string { return values })
}

// completeBy is complete for values that take long to list.
func completeBy(c *cobra.Command, flag string, values func() []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err)
	}
}

// completeCalls completes the flags that select calls by their function or their method.
func completeCalls(c *cobra.Command) {
	completeBy(c, "function", kernel.Functions)
	completeBy(c, "method", masks)
}

// masks returns the masks of one method each, in all versions and in each: volume/MountVolume, volume/v1/MountVolume.
func masks() (list []string) {
	for _, path := range policy.Methods() {
		mask := policy.Written(path)
		parts := strings.Split(mask, "/")
		list = append(list, parts[0], parts[0]+"/"+parts[2], mask)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// The completers below ignore errors: a shell has no use for them. What follows a tab describes a name.

// completeServices returns the services that storage needs, and all of an emulated node.
func completeServices(ctx context.Context, a *connection, _ []string) []string {
	list := []string{"LanmanWorkstation\tSMB client", "MSiSCSI\tiSCSI initiator", "csiproxy\tthe agent"}
	r, _ := invoke(ctx, a, nodeClient.ListServices, &admin.ListServicesRequest{})
	for _, s := range r.GetServices() {
		if !slices.ContainsFunc(list, func(known string) bool { return strings.HasPrefix(known, s.GetName()+"\t") }) {
			list = append(list, s.GetName())
		}
	}
	return list
}

func completeDisks(ctx context.Context, a *connection, _ []string) (list []string) {
	r, _ := invoke(ctx, a, diskapi.DiskClient.ListDiskIDs, &diskapi.ListDiskIDsRequest{})
	for number, id := range r.GetDiskIDs() {
		text := fmt.Sprint(number)
		if serial := id.GetSerialNumber(); serial != "" {
			text += "\tserial " + serial
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// completeVolumes returns the ids of the volumes, in the short form that no shell misreads.
func completeVolumes(ctx context.Context, a *connection, _ []string) (list []string) {
	numbers, _ := a.diskNumbers(ctx)
	for _, number := range numbers {
		r, _ := invoke(ctx, a, volumeapi.VolumeClient.ListVolumesOnDisk,
			&volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
		for _, id := range r.GetVolumeIds() {
			list = append(list, fmt.Sprintf("%s\tdisk %d", shortID(id), number))
		}
	}
	return list
}

// network returns the file servers and portals of an emulated node.
func network(ctx context.Context, a *connection) *admin.ListNetworkResponse {
	r, _ := invoke(ctx, a, nodeClient.ListNetwork, &admin.ListNetworkRequest{})
	return r
}

// completePortals returns the registered portals, and all of an emulated node's storage.
func completePortals(ctx context.Context, a *connection, _ []string) (list []string) {
	for _, p := range network(ctx, a).GetPortals() {
		list = append(list, portalText(p.GetAddress(), p.GetPort()))
	}
	r, _ := invoke(ctx, a, iscsiapi.IscsiClient.ListTargetPortals, &iscsiapi.ListTargetPortalsRequest{})
	for _, p := range r.GetTargetPortals() {
		list = append(list, portalText(p.GetTargetAddress(), p.GetTargetPort()))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// completeTargets returns the targets of the portal before them, or else those that are connected.
func completeTargets(ctx context.Context, a *connection, before []string) (list []string) {
	if len(before) > 0 {
		r, _ := invoke(ctx, a, iscsiapi.IscsiClient.DiscoverTargetPortal,
			&iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalOf(before)})
		return r.GetIqns()
	}
	r, _ := invoke(ctx, a, admin.AdminClient.Inspect, &admin.InspectRequest{})
	for _, s := range r.GetIscsiSessions() {
		list = append(list, s.GetTarget())
	}
	return list
}

// notMapped is the end of the completion of a share that could be mapped.
const notMapped = "\tnot mapped"

// completeShares returns the shares of the server before them, or else the mapped ones and those of an emulated node.
func completeShares(ctx context.Context, a *connection, before []string) (list []string) {
	servers := network(ctx, a).GetServers()
	if len(before) > 0 {
		for _, s := range servers {
			if strings.EqualFold(s.GetName(), before[0]) {
				list = append(list, s.GetShares()...)
			}
		}
		return list
	}
	r, _ := invoke(ctx, a, admin.AdminClient.Inspect, &admin.InspectRequest{})
	mapped := map[string]bool{}
	for _, m := range r.GetSmbMappings() {
		mapped[strings.ToLower(m.GetRemotePath())] = true
		list = append(list, m.GetRemotePath()+"\t"+m.GetStatus())
	}
	for _, s := range servers {
		for _, share := range s.GetShares() {
			if path := `\\` + s.GetName() + `\` + share; !mapped[strings.ToLower(path)] {
				list = append(list, path+notMapped)
			}
		}
	}
	return list
}

func completeServers(ctx context.Context, a *connection, _ []string) (list []string) {
	for _, s := range network(ctx, a).GetServers() {
		list = append(list, s.GetName())
	}
	return list
}

func completeFaults(ctx context.Context, a *connection, _ []string) (list []string) {
	r, _ := invoke(ctx, a, nodeClient.ListFaults, &admin.ListFaultsRequest{})
	for _, s := range r.GetFaults() {
		list = append(list, fmt.Sprintf("%d\t%s %s", s.GetId(),
			faulttext.Calls(s.GetFault()), faulttext.EffectOf(s.GetFault())))
	}
	return list
}
