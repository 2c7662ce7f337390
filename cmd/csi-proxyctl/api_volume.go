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
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func volumeGroup(a *connection) *cobra.Command {
	c := group("volume", "Find, format, mount, measure and grow volumes",
		listVolumesCommand(a),
		a.storage(a.command("stats", "Print how large a volume's file system is, and how much of it is used", "VOLUME"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: args[0]})
				row := func(name string, bytes int64) string {
					return fmt.Sprintf("%s\t%d\t(%s)", name, bytes, treeview.Size(bytes))
				}
				return answer{
					value: map[string]int64{"totalBytes": r.GetTotalBytes(), "usedBytes": r.GetUsedBytes()},
					rows:  []string{"\tBYTES\t", row("total", r.GetTotalBytes()), row("used", r.GetUsedBytes())},
					names: args,
				}, err
			}),
		a.storage(a.command("disk", "Print the number of the disk that a volume is on", "VOLUME"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Volume.GetDiskNumberFromVolumeID(ctx,
					&volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: args[0]})
				return answer{value: map[string]uint32{"diskNumber": r.GetDiskNumber()},
					rows: []string{fmt.Sprint(r.GetDiskNumber())}}, err
			}),
		a.storage(a.command("id", "Print the id of the volume that is mounted at a path", "PATH"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Volume.GetVolumeIDFromTargetPath(ctx,
					&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: args[0]})
				return answer{value: map[string]string{"volumeId": r.GetVolumeId()}, rows: []string{r.GetVolumeId()}}, err
			}),
		asks(a.storage(a.command("format", "Put an NTFS file system on a blank volume", "VOLUME"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: args[0]}))
			}),
			"An empty NTFS is left as it is. One that holds files is refused, unless the agent runs with "+
				"-erase-on-format; a volume that holds anything else is refused."),
		change(a.storage(a.command("mount", "Mount a volume at a directory, which is made when it is missing", "VOLUME",
			"PATH"), func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
			return done(client.Volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: args[0], TargetPath: args[1]}))
		})),
		asks(a.storage(a.command("unmount", "Unmount a volume from a directory, which stays", "VOLUME", "PATH"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Volume.UnmountVolume(ctx,
					&volumeapi.UnmountVolumeRequest{VolumeId: args[0], TargetPath: args[1]}))
			}), "Unwritten data is written out first. Pods that use the path lose the volume."),
		resizeCommand(a),
		change(a.storage(a.command("flush", "Write Windows' cache of a volume to its disk", "VOLUME"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Volume.WriteVolumeCache(ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: args[0]}))
			})),
	)
	c.Long = c.Short + `.

A VOLUME is a volume's id, as csi-proxyctl volume list prints it, of which Volume{GUID} is enough, or a path at which it
is mounted. A PATH is a Windows path in a working directory of the agent, such as kubelet's.`
	return c
}

func listVolumesCommand(a *connection) *cobra.Command {
	c := a.command("list", "List the ids of the volumes on a disk, or on all disks", "[DISK]")
	partition := c.Flags().Uint32("partition", 0, "only the volume of the partition with this `number` of the disk")
	c.Args = func(c *cobra.Command, args []string) error {
		if *partition != 0 && len(args) == 0 {
			return fmt.Errorf("--partition needs DISK: %s", kinds()["DISK"].means)
		}
		return a.checkArguments(c, args)
	}
	return a.storage(c, func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
		if len(args) == 1 {
			r, err := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: diskOf(args),
				PartitionNumber: *partition})
			return a.volumes(ctx, r.GetVolumeIds(), err)
		}
		numbers, err := diskNumbers(ctx, client)
		var ids []string
		for _, number := range numbers {
			r, err := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
			// offline, blank, or just gone
			if code := status.Code(err); code != codes.OK && code != codes.FailedPrecondition && code != codes.NotFound {
				return answer{}, err
			}
			ids = append(ids, r.GetVolumeIds()...)
		}
		return a.volumes(ctx, ids, err)
	})
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
	for _, d := range tree.Disks {
		for _, p := range d.Partitions {
			v := p.Volume
			if v == nil || !slices.Contains(ids, v.ID) {
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
	}
	found.value = map[string]any{"volumes": list}
	return found, nil
}

func resizeCommand(a *connection) *cobra.Command {
	c := a.command("resize", "Grow a volume, with its file system, to a size or as far as its disk allows", "VOLUME")
	var to size
	c.Flags().Var(&to, "size", "of the partition; `bytes`, or with a unit: 20Gi (default: as large as the disk allows)")
	return change(a.storage(c, func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
		return done(client.Volume.ResizeVolume(ctx, &volumeapi.ResizeVolumeRequest{VolumeId: args[0], SizeBytes: int64(to)}))
	}))
}
