// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/faulttext"
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
	if next.offer == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	list := next.offer(ctx, a, args)
	if c.Name() == "unmap" {
		list = slices.DeleteFunc(list, func(share string) bool { return strings.HasSuffix(share, notMapped) })
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// complete offers fixed values of a flag; it panics if the command has no such flag.
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

// asked asks the admin endpoint for names. Errors are ignored: a shell has no use for them.
func asked(ctx context.Context, a *connection,
	names func(context.Context, *adminclient.Client) []string) (list []string) {
	_ = a.call(ctx, func(ctx context.Context, client *adminclient.Client) error {
		list = names(ctx, client)
		return nil
	})
	return list
}

// offerServices offers the services that storage needs, and all of an emulated node.
func offerServices(ctx context.Context, a *connection, _ []string) []string {
	list := []string{"LanmanWorkstation\tSMB client", "MSiSCSI\tiSCSI initiator", "csiproxy\tthe agent"}
	return append(list, asked(ctx, a, func(ctx context.Context, client *adminclient.Client) (more []string) {
		r, _ := client.ListServices(ctx, &admin.ListServicesRequest{})
		for _, s := range r.GetServices() {
			if !slices.ContainsFunc(list, func(known string) bool { return strings.HasPrefix(known, s.GetName()+"\t") }) {
				more = append(more, s.GetName())
			}
		}
		return more
	})...)
}

func offerDisks(ctx context.Context, a *connection, _ []string) (list []string) {
	client := a.client()
	defer func() { _ = client.Close() }()
	r, _ := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	for _, number := range slices.Sorted(maps.Keys(r.GetDiskIDs())) {
		text := fmt.Sprint(number)
		if serial := r.GetDiskIDs()[number].GetSerialNumber(); serial != "" {
			text += "\tserial " + serial
		}
		list = append(list, text)
	}
	return list
}

func diskNumbers(ctx context.Context, client *csiproxy.Client) ([]uint32, error) {
	r, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	return slices.Sorted(maps.Keys(r.GetDiskIDs())), err
}

// offerVolumes offers the ids of the volumes, in the short form that no shell misreads.
func offerVolumes(ctx context.Context, a *connection, _ []string) (list []string) {
	client := a.client()
	defer func() { _ = client.Close() }()
	numbers, _ := diskNumbers(ctx, client)
	for _, number := range numbers {
		r, _ := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
		for _, id := range r.GetVolumeIds() {
			list = append(list, fmt.Sprintf("%s\tdisk %d", shortID(id), number))
		}
	}
	return list
}

// offerPortals offers the registered portals, and all of an emulated node's storage.
func offerPortals(ctx context.Context, a *connection, _ []string) []string {
	client := a.client()
	defer func() { _ = client.Close() }()
	list := asked(ctx, a, func(ctx context.Context, client *adminclient.Client) (all []string) {
		r, _ := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
		for _, p := range r.GetPortals() {
			all = append(all, portalText(p.GetAddress(), p.GetPort()))
		}
		return all
	})
	r, _ := client.ISCSI.ListTargetPortals(ctx, &iscsiapi.ListTargetPortalsRequest{})
	for _, p := range r.GetTargetPortals() {
		list = append(list, portalText(p.GetTargetAddress(), p.GetTargetPort()))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// offerTargets offers the targets of the portal before them, or else those that are connected.
func offerTargets(ctx context.Context, a *connection, before []string) []string {
	if len(before) == 0 {
		return asked(ctx, a, func(ctx context.Context, client *adminclient.Client) (list []string) {
			r, _ := client.Inspect(ctx, &admin.InspectRequest{})
			for _, s := range r.GetIscsiSessions() {
				list = append(list, s.GetTarget())
			}
			return list
		})
	}
	client := a.client()
	defer func() { _ = client.Close() }()
	r, _ := client.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalOf(before)})
	return r.GetIqns()
}

// notMapped is the end of the offer of a share that could be mapped.
const notMapped = "\tnot mapped"

// offerShares offers the shares that are mapped, which the admin endpoint knows, and those of an emulated node, or
// those of the server before them.
func offerShares(ctx context.Context, a *connection, before []string) []string {
	return asked(ctx, a, func(ctx context.Context, client *adminclient.Client) (list []string) {
		network, _ := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
		if len(before) > 0 {
			for _, s := range network.GetServers() {
				if strings.EqualFold(s.GetName(), before[0]) {
					list = append(list, s.GetShares()...)
				}
			}
			return list
		}
		r, _ := client.Inspect(ctx, &admin.InspectRequest{})
		mapped := map[string]bool{}
		for _, m := range r.GetSmbMappings() {
			mapped[strings.ToLower(m.GetRemotePath())] = true
			list = append(list, m.GetRemotePath()+"\t"+m.GetStatus())
		}
		for _, s := range network.GetServers() {
			for _, share := range s.GetShares() {
				if path := `\\` + s.GetName() + `\` + share; !mapped[strings.ToLower(path)] {
					list = append(list, path+notMapped)
				}
			}
		}
		return list
	})
}

func offerServers(ctx context.Context, a *connection, _ []string) []string {
	return asked(ctx, a, func(ctx context.Context, client *adminclient.Client) (list []string) {
		r, _ := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
		for _, s := range r.GetServers() {
			list = append(list, s.GetName())
		}
		return list
	})
}

func offerFaults(ctx context.Context, a *connection, _ []string) []string {
	return asked(ctx, a, func(ctx context.Context, client *adminclient.Client) (list []string) {
		r, _ := client.ListFaults(ctx, &admin.ListFaultsRequest{})
		for _, s := range r.GetFaults() {
			list = append(list, fmt.Sprintf("%d\t%s %s", s.GetId(),
				faulttext.Calls(s.GetFault()), faulttext.EffectOf(s.GetFault())))
		}
		return list
	})
}
