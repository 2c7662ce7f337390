// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func volumeGroup(a *connection) *cobra.Command {
	resized := &volumeapi.ResizeVolumeRequest{}
	resize := changeWith(a, "resize", "Grow a volume, with its file system, to a size or as far as its disk allows", resized,
		volumeapi.VolumeClient.ResizeVolume, "VOLUME")
	resize.Flags().Var((*size)(&resized.SizeBytes), "size",
		"of the partition; `bytes`, or with a unit: 20Gi (default: as large as the disk allows)")
	c := group("volume", "Find, format, mount, measure and grow volumes",
		listVolumesCommand(a),
		query(a, "stats", "Print how large a volume's file system is, and how much of it is used",
			volumeapi.VolumeClient.GetVolumeStats, func(args []string, r *volumeapi.GetVolumeStatsResponse) answer {
				row := func(name string, bytes int64) string {
					return fmt.Sprintf("%s\t%d\t(%s)", name, bytes, treeview.Size(bytes))
				}
				return answer{value: message{r}, names: args,
					rows: []string{"\tBYTES\t", row("total", r.GetTotalBytes()), row("used", r.GetUsedBytes())}}
			}, "VOLUME"),
		query(a, "disk", "Print the number of the disk that a volume is on",
			volumeapi.VolumeClient.GetDiskNumberFromVolumeID, nil, "VOLUME"),
		query(a, "id", "Print the id of the volume that is mounted at a path",
			volumeapi.VolumeClient.GetVolumeIDFromTargetPath, nil, "PATH"),
		asks(change(a, "format", "Put an NTFS file system on a blank volume", volumeapi.VolumeClient.FormatVolume, "VOLUME"),
			"An empty NTFS is left as it is. One that holds files is refused, unless the agent runs with "+
				"-erase-on-format; a volume that holds anything else is refused."),
		change(a, "mount", "Mount a volume at a directory, which is made when it is missing",
			volumeapi.VolumeClient.MountVolume, "VOLUME", "PATH"),
		asks(change(a, "unmount", "Unmount a volume from a directory, which stays", volumeapi.VolumeClient.UnmountVolume,
			"VOLUME", "PATH"), "Unwritten data is written out first. Pods that use the path lose the volume."),
		resize,
		change(a, "flush", "Write Windows' cache of a volume to its disk", volumeapi.VolumeClient.WriteVolumeCache, "VOLUME"),
	)
	c.Long = c.Short + `.

A VOLUME is a volume's id, as csi-proxyctl volume list prints it, of which Volume{GUID} is enough, or a path at which it
is mounted. A PATH is a Windows path in a working directory of the agent, such as kubelet's.`
	return c
}

func listVolumesCommand(a *connection) *cobra.Command {
	c := a.command("list", "List the ids of the volumes on a disk, or on all disks", "[DISK]")
	a.calledBy(c, "ListVolumesOnDisk")
	partition := c.Flags().Uint32("partition", 0, "only the volume of the partition with this `number` of the disk")
	a.runs(c, func(ctx context.Context, args []string) (answer, error) {
		if len(args) == 0 {
			ids, err := a.allVolumes(ctx)
			return a.volumes(ctx, ids, err)
		}
		r, err := invoke(ctx, a, volumeapi.VolumeClient.ListVolumesOnDisk,
			&volumeapi.ListVolumesOnDiskRequest{DiskNumber: diskOf(args), PartitionNumber: *partition})
		return a.volumes(ctx, r.GetVolumeIds(), err)
	})
	return first(c, func(args []string) error {
		if *partition != 0 && len(args) == 0 {
			return fmt.Errorf("--partition needs DISK: %s", kinds()["DISK"].means)
		}
		return nil
	})
}

// allVolumes returns the ids of the volumes on all disks but those that are offline, blank or were just detached.
func (a *connection) allVolumes(ctx context.Context) (ids []string, err error) {
	numbers, err := a.diskNumbers(ctx)
	for _, number := range numbers {
		r, err := invoke(ctx, a, volumeapi.VolumeClient.ListVolumesOnDisk,
			&volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
		if code := status.Code(err); code != codes.OK && code != codes.FailedPrecondition && code != codes.NotFound {
			return nil, err
		}
		ids = append(ids, r.GetVolumeIds()...)
	}
	return ids, err
}

// volumes returns a list of volumes. Other outputs than a table have what the tree has.
func (a *connection) volumes(ctx context.Context, ids []string, err error) (answer, error) {
	found := answer{value: ids, rows: ids, names: ids}
	if err != nil || !a.output.asksMore() {
		return found, err
	}
	tree, _, err := a.tree(ctx)
	if err != nil {
		return answer{}, err
	}
	type row struct {
		*treeview.Volume
		DiskNumber uint32 `json:"diskNumber"`
	}
	list := []row{}
	found.wide = []string{"VOLUME\tDISK\tFORMATTED\tSIZE\tUSED"}
	for d, v := range volumesOf(tree) {
		if !slices.Contains(ids, v.ID) {
			continue
		}
		size, used := "-", "-"
		if v.Formatted {
			size, used = treeview.Size(v.TotalBytes), treeview.Size(v.UsedBytes)
		}
		list = append(list, row{v, d.Number})
		found.wide = append(found.wide,
			strings.Join([]string{v.ID, fmt.Sprint(d.Number), yesText(v.Formatted), size, used}, "\t"))
	}
	found.value = map[string]any{"volumes": list}
	return found, nil
}
