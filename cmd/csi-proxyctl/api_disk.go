// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func diskGroup(a *connection) *cobra.Command {
	return groupCommand("disk", "Find disks, bring them online, partition them",
		listDisksCommand(a), locationsCommand(a), diskStatsCommand(a), diskStateCommand(a), onlineCommand(a), offlineCommand(a),
		partitionCommand(a), rescanCommand(a))
}

// diskRow is a disk by what it calls itself.
type diskRow struct {
	DiskNumber   uint32 `json:"diskNumber"`
	SerialNumber string `json:"serialNumber"`
	Page83       string `json:"page83"`
}

func listDisksCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "list", Short: "List the disks with their serial numbers and page 83 identifiers", Args: cobra.NoArgs,
	}, "listing the disks", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, _ []string) error {
		r, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
		if err != nil {
			return err
		}
		list, rows := []diskRow{}, []string{"DISK\tSERIAL\tPAGE 83"}
		for _, n := range slices.Sorted(maps.Keys(r.GetDiskIDs())) {
			id := r.GetDiskIDs()[n]
			list = append(list, diskRow{n, id.GetSerialNumber(), id.GetPage83()})
			rows = append(rows, fmt.Sprintf("%d\t%s\t%s", n, orDash(id.GetSerialNumber()), orDash(id.GetPage83())))
		}
		return a.print(c, map[string]any{"disks": list}, rows...)
	})
}

// locationRow is a disk by where it is attached.
type locationRow struct {
	DiskNumber uint32 `json:"diskNumber"`
	Adapter    string `json:"adapter"`
	Bus        string `json:"bus"`
	Target     string `json:"target"`
	LUN        string `json:"lun"`
}

func locationsCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "locations", Short: "List the disks with the SCSI addresses at which they are attached", Args: cobra.NoArgs,
	}, "listing the disks", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, _ []string) error {
		r, err := client.Disk.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{})
		if err != nil {
			return err
		}
		list, rows := []locationRow{}, []string{"DISK\tADAPTER\tBUS\tTARGET\tLUN"}
		for _, n := range slices.Sorted(maps.Keys(r.GetDiskLocations())) {
			at := r.GetDiskLocations()[n]
			list = append(list, locationRow{n, at.GetAdapter(), at.GetBus(), at.GetTarget(), at.GetLUNID()})
			rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%s\t%s", n, orDash(at.GetAdapter()), orDash(at.GetBus()), orDash(at.GetTarget()), orDash(at.GetLUNID())))
		}
		return a.print(c, map[string]any{"disks": list}, rows...)
	})
}

// oneDisk is a command that calls the API for one disk.
func oneDisk(a *connection, use, short, doing string, call func(context.Context, *cobra.Command, *csiproxy.Client, uint32) error) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: use + " DISK", Short: short, Example: "  csi-proxyctl disk " + use + " 1", Args: numberedDisk(1), ValidArgsFunction: a.completeDisks,
	}, doing, func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		number, err := diskArgument(args[0])
		if err != nil {
			return err
		}
		return call(ctx, c, client, number)
	})
}

func diskStatsCommand(a *connection) *cobra.Command {
	return oneDisk(a, "stats", "Print how large a disk is", "asking for the size of the disk",
		func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, number uint32) error {
			r, err := client.Disk.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: number})
			if err != nil {
				return err
			}
			return a.print(c, map[string]int64{"totalBytes": r.GetTotalBytes()}, fmt.Sprintf("%d (%s)", r.GetTotalBytes(), treeview.Size(r.GetTotalBytes())))
		})
}

func diskStateCommand(a *connection) *cobra.Command {
	return oneDisk(a, "state", "Print whether a disk is online", "asking for the state of the disk",
		func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, number uint32) error {
			r, err := client.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: number})
			if err != nil {
				return err
			}
			return a.print(c, map[string]bool{"online": r.GetIsOnline()}, onlineText(r.GetIsOnline()))
		})
}

func onlineText(online bool) string {
	if online {
		return "online"
	}
	return "offline"
}

func onlineCommand(a *connection) *cobra.Command {
	return oneDisk(a, "online", "Bring a disk online and make it writable", "bringing the disk online",
		func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, number uint32) error {
			_, err := client.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
			return err
		})
}

func offlineCommand(a *connection) *cobra.Command {
	return diskDeed(a, "offline DISK", "Take a disk offline", deed{
		what: "take disk %d offline", doing: "taking the disk offline", effect: "Its volumes disappear until it is online again, also from under whoever has files open.",
	}, func(ctx context.Context, client *csiproxy.Client, number uint32) error {
		_, err := client.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: number})
		return err
	})
}

func partitionCommand(a *connection) *cobra.Command {
	return diskDeed(a, "partition DISK", "Give a blank disk a partition table and one partition", deed{
		what: "partition disk %d", doing: "partitioning the disk",
		effect: "An offline disk is brought online. A disk that has a partition is left as it is, and one that is not blank is refused.",
	}, func(ctx context.Context, client *csiproxy.Client, number uint32) error {
		_, err := client.Disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: number})
		return err
	})
}

// diskDeed is a command that changes a disk after a question.
func diskDeed(a *connection, use, short string, d deed, do func(context.Context, *csiproxy.Client, uint32) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: numberedDisk(1), ValidArgsFunction: a.completeDisks}
	return deedCommand(a, c, func(args []string) (deed, error) {
		number, err := diskArgument(args[0])
		planned := d
		planned.what = fmt.Sprintf(d.what, number)
		planned.look = func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
			return describeDisk(ctx, client, number)
		}
		planned.do = func(ctx context.Context, client *csiproxy.Client) error { return do(ctx, client, number) }
		return planned, err
	})
}

func rescanCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "rescan", Short: "Have Windows look for disks that came, went or grew", Args: cobra.NoArgs,
	}, "looking for disks", func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, _ []string) error {
		_, err := client.Disk.Rescan(ctx, &diskapi.RescanRequest{})
		return err
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
