// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func diskGroup(a *connection) *cobra.Command {
	list := a.runs(a.command("list", "List the disks with their serial numbers and page 83 identifiers"), a.listDisks)
	a.calledBy(list, "ListDiskIDs")
	return group("disk", "Find disks, bring them online, partition them",
		list,
		query(a, "locations", "List the disks with the SCSI addresses at which they are attached",
			diskapi.DiskClient.ListDiskLocations, showLocations),
		query(a, "stats", "Print how large a disk is", diskapi.DiskClient.GetDiskStats,
			func(args []string, r *diskapi.GetDiskStatsResponse) answer {
				size := fmt.Sprintf("%d (%s)", r.GetTotalBytes(), treeview.Size(r.GetTotalBytes()))
				return answer{value: message{r}, rows: []string{size}, names: args}
			}, "DISK"),
		query(a, "state", "Print whether a disk is online", diskapi.DiskClient.GetDiskState,
			func(args []string, r *diskapi.GetDiskStateResponse) answer {
				return answer{value: map[string]bool{"online": r.GetIsOnline()}, rows: []string{onlineText(r.GetIsOnline())},
					names: args}
			}, "DISK"),
		changeWith(a, "online", "Bring a disk online and make it writable",
			&diskapi.SetDiskStateRequest{IsOnline: true}, diskapi.DiskClient.SetDiskState, "DISK"),
		asks(change(a, "offline", "Take a disk offline", diskapi.DiskClient.SetDiskState, "DISK"),
			"Its volumes disappear until it is online again, even if files on them are open."),
		asks(change(a, "partition", "Give a blank disk a partition table and one partition",
			diskapi.DiskClient.PartitionDisk, "DISK"),
			"An offline disk is brought online. A disk that has a partition is left as it is, and one that is not blank is "+
				"refused."),
		change(a, "rescan", "Have Windows look for disks that came, went or grew", diskapi.DiskClient.Rescan),
	)
}

// listDisks lists the disks by their identifiers. Other outputs than a table have what the tree has.
func (a *connection) listDisks(ctx context.Context, _ []string) (answer, error) {
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
	r, err := invoke(ctx, a, diskapi.DiskClient.ListDiskIDs, &diskapi.ListDiskIDsRequest{})
	rows := []string{"DISK\tSERIAL\tPAGE 83"}
	for _, n := range slices.Sorted(maps.Keys(r.GetDiskIDs())) {
		id := r.GetDiskIDs()[n]
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s", n, orDash(id.GetSerialNumber()), orDash(id.GetPage83())))
	}
	return answer{value: rows, rows: rows}, err
}

// locationRow is the SCSI address of a disk.
type locationRow struct {
	Adapter string `json:"adapter"`
	Bus     string `json:"bus"`
	Target  string `json:"target"`
	LUN     string `json:"lun"`
}

func (l locationRow) cells() string {
	return orDash(l.Adapter) + "\t" + orDash(l.Bus) + "\t" + orDash(l.Target) + "\t" + orDash(l.LUN)
}

func showLocations(_ []string, r *diskapi.ListDiskLocationsResponse) answer {
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
	return answer{value: map[string]any{"disks": list}, rows: rows}
}
