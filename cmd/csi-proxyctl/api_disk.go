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
	return group("disk", "Find disks, bring them online, partition them",
		a.storage(&cobra.Command{Use: "list", Short: "List the disks with their serial numbers and page 83 identifiers"},
			"listing the disks", a.listDisks),
		a.storage(&cobra.Command{Use: "locations", Short: "List the disks with the SCSI addresses at which they are " +
			"attached"}, "listing the disks", listLocations),
		oneDisk(a, "stats", "Print how large a disk is", "asking for the size of the disk",
			func(ctx context.Context, client *csiproxy.Client, disk uint32) (answer, error) {
				r, err := client.Disk.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: disk})
				total := r.GetTotalBytes()
				return answer{value: map[string]int64{"totalBytes": total},
					rows: []string{fmt.Sprintf("%d (%s)", total, treeview.Size(total))}, names: []string{fmt.Sprint(disk)}}, err
			}),
		oneDisk(a, "state", "Print whether a disk is online", "asking for the state of the disk",
			func(ctx context.Context, client *csiproxy.Client, disk uint32) (answer, error) {
				r, err := client.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: disk})
				return answer{value: map[string]bool{"online": r.GetIsOnline()}, rows: []string{onlineText(r.GetIsOnline())},
					names: []string{fmt.Sprint(disk)}}, err
			}),
		change(oneDisk(a, "online", "Bring a disk online and make it writable", "bringing the disk online",
			func(ctx context.Context, client *csiproxy.Client, disk uint32) (answer, error) {
				return done(client.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: disk, IsOnline: true}))
			})),
		diskDeed(a, "offline DISK", "Take a disk offline", deed{
			what: "take disk %d offline", doing: "taking the disk offline",
			effect: "Its volumes disappear until it is online again, even if files on them are open.",
		}, func(ctx context.Context, client *csiproxy.Client, disk uint32) (answer, error) {
			return done(client.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: disk}))
		}),
		diskDeed(a, "partition DISK", "Give a blank disk a partition table and one partition", deed{
			what: "partition disk %d", doing: "partitioning the disk",
			effect: "An offline disk is brought online. A disk that has a partition is left as it is, and one that is not " +
				"blank is refused.",
		}, func(ctx context.Context, client *csiproxy.Client, disk uint32) (answer, error) {
			return done(client.Disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: disk}))
		}),
		change(a.storage(&cobra.Command{Use: "rescan", Short: "Have Windows look for disks that came, went or grew"},
			"looking for disks",
			func(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
				return done(client.Disk.Rescan(ctx, &diskapi.RescanRequest{}))
			})),
	)
}

// oneDisk makes a command that calls the API for one disk.
func oneDisk(a *connection, use, short, doing string, call func(context.Context, *csiproxy.Client, uint32) (answer,
	error)) *cobra.Command {
	return a.storage(&cobra.Command{Use: use + " DISK", Short: short, Example: "  csi-proxyctl disk " + use + " 1"}, doing,
		func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
			return call(ctx, client, diskOf(args))
		})
}

// diskDeed makes a command that changes a disk after a question.
func diskDeed(a *connection, use, short string, d deed, do func(context.Context, *csiproxy.Client, uint32) (answer,
	error)) *cobra.Command {
	return a.deed(&cobra.Command{Use: use, Short: short}, func(args []string) deed {
		disk, planned := diskOf(args), d
		planned.what = fmt.Sprintf(d.what, disk)
		planned.look = func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
			return describeDisk(ctx, client, disk)
		}
		planned.do = func(ctx context.Context, client *csiproxy.Client) (answer, error) { return do(ctx, client, disk) }
		return planned
	})
}

// diskRow is a disk with its own identifiers.
type diskRow struct {
	DiskNumber   uint32 `json:"diskNumber"`
	SerialNumber string `json:"serialNumber"`
	Page83       string `json:"page83"`
}

func (a *connection) listDisks(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
	r, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	list, rows := []diskRow{}, []string{"DISK\tSERIAL\tPAGE 83"}
	for _, n := range slices.Sorted(maps.Keys(r.GetDiskIDs())) {
		id := r.GetDiskIDs()[n]
		list = append(list, diskRow{n, id.GetSerialNumber(), id.GetPage83()})
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s", n, orDash(id.GetSerialNumber()), orDash(id.GetPage83())))
	}
	found := answer{value: map[string]any{"disks": list}, rows: rows}
	if err == nil && a.output.form == outputWide {
		found.wide = wideDisks(ctx, client, list)
	}
	return found, err
}

// wideDisks returns the rows of the disks with their sizes, states and addresses. Facts that the agent cannot give are
// left out.
func wideDisks(ctx context.Context, client *csiproxy.Client, list []diskRow) []string {
	rows := []string{"DISK\tSIZE\tSTATE\tADAPTER\tBUS\tTARGET\tLUN\tSERIAL\tPAGE 83"}
	locations, _ := client.Disk.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{})
	for _, d := range list {
		size, state := "-", "-"
		if r, err := client.Disk.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: d.DiskNumber}); err == nil {
			size = treeview.Size(r.GetTotalBytes())
		}
		if r, err := client.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: d.DiskNumber}); err == nil {
			state = onlineText(r.GetIsOnline())
		}
		at := locations.GetDiskLocations()[d.DiskNumber]
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", d.DiskNumber, size, state,
			orDash(at.GetAdapter()), orDash(at.GetBus()), orDash(at.GetTarget()), orDash(at.GetLUNID()),
			orDash(d.SerialNumber), orDash(d.Page83)))
	}
	return rows
}

// locationRow is a disk with the place where it is attached.
type locationRow struct {
	DiskNumber uint32 `json:"diskNumber"`
	Adapter    string `json:"adapter"`
	Bus        string `json:"bus"`
	Target     string `json:"target"`
	LUN        string `json:"lun"`
}

func listLocations(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
	r, err := client.Disk.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{})
	list, rows := []locationRow{}, []string{"DISK\tADAPTER\tBUS\tTARGET\tLUN"}
	for _, n := range slices.Sorted(maps.Keys(r.GetDiskLocations())) {
		at := r.GetDiskLocations()[n]
		list = append(list, locationRow{n, at.GetAdapter(), at.GetBus(), at.GetTarget(), at.GetLUNID()})
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%s\t%s", n, orDash(at.GetAdapter()), orDash(at.GetBus()),
			orDash(at.GetTarget()), orDash(at.GetLUNID())))
	}
	return answer{value: map[string]any{"disks": list}, rows: rows}, err
}

func onlineText(online bool) string {
	if online {
		return "online"
	}
	return "offline"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
