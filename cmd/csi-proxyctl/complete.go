// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
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

// An offer finds the values that a shell offers for an argument, each with or without a description after a tab. Errors
// are ignored: a shell has no use for them.
type offer func(ctx context.Context, a *connection, before []string) []string

// offers are the arguments that can be completed, by their names in a command's use.
func offers() map[string]offer {
	return map[string]offer{
		"DISK": asking(offerDisks), "VOLUME": asking(offerVolumes), "PORTAL": offerPortals, "TARGET": offerTargets,
		"SHARE": offerShares, "SERVICE": offerServices, "SERVER": offerServers, "SWITCH": offerSwitches,
		"ANSWER": offerAnswers,
		"ID":     offerFaults, "OBJECT": func(context.Context, *connection, []string) []string {
			return []string{"ready", "disk", "volume", "mapping"}
		},
	}
}

// asking makes an offer of one that only asks the storage API.
func asking(list func(context.Context, *csiproxy.Client) []string) offer {
	return func(ctx context.Context, a *connection, _ []string) []string {
		client := a.client()
		defer func() { _ = client.Close() }()
		return list(ctx, client)
	}
}

// offered returns the names that there are for an argument.
func (a *connection) offered(ctx context.Context, name string, before []string) []string {
	if offer := offers()[name]; offer != nil {
		return offer(ctx, a, before)
	}
	return nil
}

// completeArguments makes a command complete its arguments by their names in its use.
func (a *connection) completeArguments(c *cobra.Command) {
	names := arguments(c.Use)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		switch names[len(args)].name {
		case "FILE", "OTHER", "AUDITLOG", "DIR":
			return nil, cobra.ShellCompDirectiveDefault
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		list := a.offered(ctx, names[len(args)].name, args)
		if c.Name() == "unmap" {
			list = slices.DeleteFunc(list, func(share string) bool { return strings.HasSuffix(share, notMapped) })
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
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

// offerServices offers the services that storage needs, and all of an emulated node.
func offerServices(ctx context.Context, a *connection, _ []string) []string {
	list := []string{"LanmanWorkstation\tSMB client", "MSiSCSI\tiSCSI initiator", "csiproxy\tthe agent"}
	a.quietly(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.ListServices(ctx, &admin.ListServicesRequest{})
		for _, s := range r.GetServices() {
			if s.GetName() != "LanmanWorkstation" && s.GetName() != "MSiSCSI" && s.GetName() != "csiproxy" {
				list = append(list, s.GetName())
			}
		}
		return err
	})
	return list
}

// quietly asks the admin endpoint for a completion.
func (a *connection) quietly(ctx context.Context, ask func(context.Context, *adminclient.Client) error) {
	_ = a.call(ctx, ask)
}

func offerDisks(ctx context.Context, client *csiproxy.Client) (list []string) {
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
func offerVolumes(ctx context.Context, client *csiproxy.Client) (list []string) {
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
func offerPortals(ctx context.Context, a *connection, _ []string) (list []string) {
	client := a.client()
	defer func() { _ = client.Close() }()
	r, _ := client.ISCSI.ListTargetPortals(ctx, &iscsiapi.ListTargetPortalsRequest{})
	for _, p := range r.GetTargetPortals() {
		list = append(list, portalText(p))
	}
	a.quietly(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
		for _, p := range r.GetPortals() {
			list = append(list, net.JoinHostPort(p.GetAddress(), strconv.FormatUint(uint64(p.GetPort()), 10)))
		}
		return err
	})
	slices.Sort(list)
	return slices.Compact(list)
}

// offerTargets offers the targets of the portal before them, or else those that are connected.
func offerTargets(ctx context.Context, a *connection, before []string) (list []string) {
	if len(before) == 0 {
		a.quietly(ctx, func(ctx context.Context, client *adminclient.Client) error {
			r, err := client.Inspect(ctx, &admin.InspectRequest{})
			for _, s := range r.GetIscsiSessions() {
				list = append(list, s.GetTarget())
			}
			return err
		})
		return list
	}
	client := a.client()
	defer func() { _ = client.Close() }()
	r, _ := client.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalOf(before)})
	return r.GetIqns()
}

// notMapped is the end of the offer of a share that could be mapped.
const notMapped = "\tnot mapped"

// offerShares offers the shares that are mapped, which the admin endpoint knows, or those of the server before them.
func offerShares(ctx context.Context, a *connection, before []string) (list []string) {
	a.quietly(ctx, func(ctx context.Context, client *adminclient.Client) error {
		if len(before) > 0 {
			r, err := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
			for _, s := range r.GetServers() {
				if strings.EqualFold(s.GetName(), before[0]) {
					list = append(list, s.GetShares()...)
				}
			}
			return err
		}
		r, err := client.Inspect(ctx, &admin.InspectRequest{})
		mapped := map[string]bool{}
		for _, m := range r.GetSmbMappings() {
			mapped[strings.ToLower(m.GetRemotePath())] = true
			list = append(list, m.GetRemotePath()+"\t"+m.GetStatus())
		}
		network, _ := client.ListNetwork(ctx, &admin.ListNetworkRequest{}) // of an emulated node
		for _, s := range network.GetServers() {
			for _, share := range s.GetShares() {
				if path := `\\` + s.GetName() + `\` + share; !mapped[strings.ToLower(path)] {
					list = append(list, path+notMapped)
				}
			}
		}
		return err
	})
	return list
}

func offerServers(ctx context.Context, a *connection, _ []string) (list []string) {
	a.quietly(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
		for _, s := range r.GetServers() {
			list = append(list, s.GetName())
		}
		return err
	})
	return list
}

func offerSwitches(ctx context.Context, a *connection, _ []string) (list []string) {
	a.quietly(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.ListSwitches(ctx, &admin.ListSwitchesRequest{})
		for _, s := range r.GetSwitches() {
			list = append(list, s.GetName()+"\t"+s.GetForm())
		}
		return err
	})
	return list
}

// offerAnswers offers the answers to the switch before them, if they are words.
func offerAnswers(ctx context.Context, a *connection, before []string) (list []string) {
	a.quietly(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.ListSwitches(ctx, &admin.ListSwitchesRequest{})
		for _, s := range r.GetSwitches() {
			if words := regexp.MustCompile(`, (?:or )?| or `).Split(strings.ReplaceAll(s.GetForm(), "`", ""),
				-1); s.GetName() == before[0] && len(words) > 1 {
				list = words
			}
		}
		return err
	})
	return list
}

func offerFaults(ctx context.Context, a *connection, _ []string) (list []string) {
	a.quietly(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.ListFaults(ctx, &admin.ListFaultsRequest{})
		for _, s := range r.GetFaults() {
			list = append(list, fmt.Sprintf("%d\t%s %s", s.GetId(),
				faulttext.Calls(s.GetFault()), faulttext.EffectOf(s.GetFault())))
		}
		return err
	})
	return list
}
