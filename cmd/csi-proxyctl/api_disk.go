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
		a.storage(a.command("list", "List the disks with their serial numbers and page 83 identifiers"), a.listDisks),
		a.storage(a.command("locations", "List the disks with the SCSI addresses at which they are attached"),
			listLocations),
		a.storage(a.command("stats", "Print how large a disk is", "DISK"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Disk.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: diskOf(args)})
				total := r.GetTotalBytes()
				return answer{value: map[string]int64{"totalBytes": total},
					rows: []string{fmt.Sprintf("%d (%s)", total, treeview.Size(total))}, names: args}, err
			}),
		a.storage(a.command("state", "Print whether a disk is online", "DISK"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: diskOf(args)})
				return answer{value: map[string]bool{"online": r.GetIsOnline()}, rows: []string{onlineText(r.GetIsOnline())},
					names: args}, err
			}),
		change(a.storage(a.command("online", "Bring a disk online and make it writable", "DISK"), setDiskState(true))),
		asks(a.storage(a.command("offline", "Take a disk offline", "DISK"), setDiskState(false)),
			"Its volumes disappear until it is online again, even if files on them are open."),
		asks(a.storage(a.command("partition", "Give a blank disk a partition table and one partition", "DISK"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: diskOf(args)}))
			}),
			"An offline disk is brought online. A disk that has a partition is left as it is, and one that is not blank is "+
				"refused."),
		change(a.storage(a.command("rescan", "Have Windows look for disks that came, went or grew"),
			func(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
				return done(client.Disk.Rescan(ctx, &diskapi.RescanRequest{}))
			})),
	)
}

func setDiskState(online bool) storageCall {
	return func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
		return done(client.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: diskOf(args), IsOnline: online}))
	}
}

// listDisks lists the disks by their identifiers. Other outputs than a table have what the tree has.
func (a *connection) listDisks(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
	if a.output.asksMore() {
		tree, _, err := a.tree(ctx)
		if err != nil {
			return answer{}, err
		}
		found := answer{value: tree, wide: []string{"DISK\tSIZE\tSTATE\tADAPTER\tBUS\tTARGET\tLUN\tSERIAL\tPAGE 83"}}
		for _, d := range tree.Disks {
			found.wide = append(found.wide, fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s", d.Number,
				treeview.Size(d.SizeBytes), d.State(), locationRow{d.Adapter, d.Bus, d.Target, d.LUN}.cells(),
				orDash(d.SerialNumber), orDash(d.Page83)))
		}
		return found, nil
	}
	r, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	rows := []string{"DISK\tSERIAL\tPAGE 83"}
	for _, n := range slices.Sorted(maps.Keys(r.GetDiskIDs())) {
		id := r.GetDiskIDs()[n]
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s", n, orDash(id.GetSerialNumber()), orDash(id.GetPage83())))
	}
	return answer{value: rows, rows: rows}, err
}

// locationRow is the place where a disk is attached.
type locationRow struct {
	Adapter string `json:"adapter"`
	Bus     string `json:"bus"`
	Target  string `json:"target"`
	LUN     string `json:"lun"`
}

func (l locationRow) cells() string {
	return orDash(l.Adapter) + "\t" + orDash(l.Bus) + "\t" + orDash(l.Target) + "\t" + orDash(l.LUN)
}

func listLocations(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
	r, err := client.Disk.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{})
	type row struct {
		DiskNumber uint32 `json:"diskNumber"`
		locationRow
	}
	list, rows := []row{}, []string{"DISK\tADAPTER\tBUS\tTARGET\tLUN"}
	for _, n := range slices.Sorted(maps.Keys(r.GetDiskLocations())) {
		of := r.GetDiskLocations()[n]
		at := locationRow{of.GetAdapter(), of.GetBus(), of.GetTarget(), of.GetLUNID()}
		list, rows = append(list, row{n, at}), append(rows, fmt.Sprintf("%d\t%s", n, at.cells()))
	}
	return answer{value: map[string]any{"disks": list}, rows: rows}, err
}
