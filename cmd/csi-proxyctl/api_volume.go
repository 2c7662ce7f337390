// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
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
		a.storage(&cobra.Command{Use: "stats VOLUME", Short: "Print how large a volume's file system is, and how much of " +
			"it is used"}, "asking for the size of the volume",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: args[0]})
				return answer{
					value: map[string]int64{"totalBytes": r.GetTotalBytes(), "usedBytes": r.GetUsedBytes()},
					rows:  []string{"\tBYTES\t", sizeRow("total", r.GetTotalBytes()), sizeRow("used", r.GetUsedBytes())},
					names: []string{args[0]},
				}, err
			}),
		a.storage(&cobra.Command{Use: "formatted VOLUME", Short: "Print whether Windows knows a file system on a volume"},
			"looking at the volume",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: args[0]})
				return yesNo(args[0], "formatted", r.GetFormatted(), err)
			}),
		a.storage(&cobra.Command{Use: "disk VOLUME", Short: "Print the number of the disk that a volume is on"},
			"looking for the disk",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Volume.GetDiskNumberFromVolumeID(ctx,
					&volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: args[0]})
				return answer{value: map[string]uint32{"diskNumber": r.GetDiskNumber()},
					rows: []string{fmt.Sprint(r.GetDiskNumber())}}, err
			}),
		a.storage(&cobra.Command{
			Use: "id PATH", Short: "Print the id of the volume that is mounted at a path",
			Example: `  csi-proxyctl volume id 'C:\var\lib\kubelet\pods\UID\volumes\kubernetes.io~csi\pv\mount'`,
		}, "looking for the volume", func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
			r, err := client.Volume.GetVolumeIDFromTargetPath(ctx,
				&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: args[0]})
			return volumeID(r.GetVolumeId(), err)
		}),
		a.storage(&cobra.Command{Use: "closest PATH", Short: "Print the id of the volume that a path is in"},
			"looking for the volume",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Volume.GetClosestVolumeIDFromTargetPath(ctx,
					&volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: args[0]})
				return volumeID(r.GetVolumeId(), err)
			}),
		a.deed(&cobra.Command{Use: "format VOLUME", Short: "Put an NTFS file system on a blank volume"}, formatDeed),
		change(a.storage(&cobra.Command{Use: "mount VOLUME PATH", Short: "Mount a volume at a directory, which is made " +
			"when it is missing"}, "mounting the volume",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: args[0], TargetPath: args[1]}))
			})),
		a.deed(&cobra.Command{Use: "unmount VOLUME PATH", Short: "Unmount a volume from a directory, which stays"},
			unmountDeed),
		resizeCommand(a),
		change(a.storage(&cobra.Command{Use: "flush VOLUME", Short: "Write Windows' cache of a volume to its disk"},
			"writing the volume's cache out",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Volume.WriteVolumeCache(ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: args[0]}))
			})),
	)
	c.Long = c.Short + `.

A VOLUME is a volume's id, as csi-proxyctl volume list prints it; Volume{GUID} is enough. A PATH is a Windows path in a
working directory of the agent, such as kubelet's.`
	return c
}

func listVolumesCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use: "list [DISK]", Short: "List the ids of the volumes on a disk, or on all disks",
		Example: "  csi-proxyctl volume list\n  csi-proxyctl volume list 1 -o wide",
	}
	partition := c.Flags().Uint32("partition", 0, "only the volume of the partition with this `number` of the disk")
	c.Args = func(c *cobra.Command, args []string) error {
		if *partition != 0 && len(args) == 0 {
			return fmt.Errorf("--partition needs DISK: %s", meanings["DISK"])
		}
		return checkArguments(c, args)
	}
	return a.storage(c, "listing the volumes",
		func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
			if len(args) == 1 {
				r, err := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: diskOf(args),
					PartitionNumber: *partition})
				return a.volumes(ctx, client, r.GetVolumeIds(), err)
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
			return a.volumes(ctx, client, ids, err)
		})
}

// volumes returns a list of volumes, with more about each if the user wants a wide one.
func (a *connection) volumes(ctx context.Context, client *csiproxy.Client, ids []string, err error) (answer, error) {
	found, err := plainList("volumes", ids, err)
	if err != nil || a.output.form != outputWide {
		return found, err
	}
	found.wide = []string{"VOLUME\tDISK\tFORMATTED\tSIZE\tUSED"}
	for _, id := range ids {
		disk, formatted, size, used := "-", "-", "-", "-"
		if r, err := client.Volume.GetDiskNumberFromVolumeID(ctx,
			&volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: id}); err == nil {
			disk = fmt.Sprint(r.GetDiskNumber())
		}
		if r, err := client.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id}); err == nil {
			formatted = map[bool]string{true: "yes", false: "no"}[r.GetFormatted()]
		}
		if r, err := client.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: id}); err == nil &&
			formatted == "yes" {
			size, used = treeview.Size(r.GetTotalBytes()), treeview.Size(r.GetUsedBytes())
		}
		found.wide = append(found.wide, strings.Join([]string{id, disk, formatted, size, used}, "\t"))
	}
	return found, nil
}

func resizeCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use: "resize VOLUME", Short: "Grow a volume, with its file system, to a size or as far as its disk allows",
		Example: "  csi-proxyctl volume resize Volume{6e0b9e60-5d2f-4f43-9a5e-7a8d5f2b6c11} --size 20Gi",
	}
	var to size
	c.Flags().Var(&to, "size", "of the partition; `bytes`, or with a unit: 20Gi (default: as large as the disk allows)")
	return change(a.storage(c, "growing the volume",
		func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
			return done(client.Volume.ResizeVolume(ctx, &volumeapi.ResizeVolumeRequest{VolumeId: args[0], SizeBytes: int64(to)}))
		}))
}

func formatDeed(args []string) deed {
	return deed{
		what: "format the volume " + args[0], doing: "formatting the volume",
		effect: "An empty NTFS is left as it is. One that holds files is refused, unless the agent runs with " +
			"-erase-on-format; a volume that holds anything else is refused.",
		look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
			return describeVolume(ctx, client, args[0])
		},
		do: func(ctx context.Context, client *csiproxy.Client) (answer, error) {
			return done(client.Volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: args[0]}))
		},
	}
}

func unmountDeed(args []string) deed {
	return deed{
		what: "unmount the volume " + args[0] + " from " + args[1], doing: "unmounting the volume",
		effect: "Unwritten data is written out first. Pods that use the path lose the volume.",
		look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
			return describePath(ctx, client, args[1])
		},
		do: func(ctx context.Context, client *csiproxy.Client) (answer, error) {
			return done(client.Volume.UnmountVolume(ctx,
				&volumeapi.UnmountVolumeRequest{VolumeId: args[0], TargetPath: args[1]}))
		},
	}
}

func volumeID(id string, err error) (answer, error) {
	return answer{value: map[string]string{"volumeId": id}, rows: []string{id}}, err
}

func sizeRow(name string, bytes int64) string {
	return fmt.Sprintf("%s\t%d\t(%s)", name, bytes, treeview.Size(bytes))
}

// shortID returns a volume's id without the characters that shells misread: Volume{GUID}.
func shortID(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(id, `\\?\`), `\`)
}
