// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func volumeGroup(a *connection) *cobra.Command {
	c := groupCommand("volume", "Find, format, mount, measure and grow volumes",
		listVolumesCommand(a), volumeStatsCommand(a), formattedCommand(a), volumeDiskCommand(a), volumeIDCommand(a), closestCommand(a),
		formatCommand(a), mountCommand(a), unmountCommand(a), resizeCommand(a), flushCommand(a))
	c.Long = c.Short + `.

A VOLUME is a volume's id, as csi-proxyctl volume list prints it; Volume{GUID} is enough. A PATH is a Windows path in a
working directory of the agent, such as kubelet's.`
	return c
}

func listVolumesCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "list DISK", Short: "List the ids of the volumes on a disk", Args: numberedDisk(1), ValidArgsFunction: a.completeDisks}
	partition := c.Flags().Uint32("partition", 0, "only the volume of the partition with this `number`")
	return apiCommand(a, c, "listing the volumes", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		disk, err := diskArgument(args[0])
		if err != nil {
			return err
		}
		r, err := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: disk, PartitionNumber: *partition})
		if err != nil {
			return err
		}
		return a.print(c, map[string][]string{"volumes": append([]string{}, r.GetVolumeIds()...)}, r.GetVolumeIds()...)
	})
}

// oneVolume is a command that calls the API for one volume.
func oneVolume(a *connection, use, short, doing string, call func(context.Context, *cobra.Command, *csiproxy.Client, string) error) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: use + " VOLUME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeVolumes,
	}, doing, func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		return call(ctx, c, client, args[0])
	})
}

func volumeStatsCommand(a *connection) *cobra.Command {
	return oneVolume(a, "stats", "Print how large a volume's file system is, and how much of it is used", "asking for the size of the volume",
		func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, id string) error {
			r, err := client.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: id})
			if err != nil {
				return err
			}
			return a.print(c, map[string]int64{"totalBytes": r.GetTotalBytes(), "usedBytes": r.GetUsedBytes()},
				"\tBYTES\t", sizeRow("total", r.GetTotalBytes()), sizeRow("used", r.GetUsedBytes()))
		})
}

func sizeRow(name string, bytes int64) string {
	return fmt.Sprintf("%s\t%d\t(%s)", name, bytes, treeview.Size(bytes))
}

func formattedCommand(a *connection) *cobra.Command {
	return oneVolume(a, "formatted", "Print whether Windows knows a file system on a volume", "looking at the volume",
		func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, id string) error {
			r, err := client.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
			if err != nil {
				return err
			}
			return a.yesNo(c, "formatted", r.GetFormatted())
		})
}

func volumeDiskCommand(a *connection) *cobra.Command {
	return oneVolume(a, "disk", "Print the number of the disk that a volume is on", "looking for the disk",
		func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, id string) error {
			r, err := client.Volume.GetDiskNumberFromVolumeID(ctx, &volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
			if err != nil {
				return err
			}
			return a.print(c, map[string]uint32{"diskNumber": r.GetDiskNumber()}, fmt.Sprint(r.GetDiskNumber()))
		})
}

func volumeIDCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "id PATH", Short: "Print the id of the volume that is mounted at a path", Args: cobra.ExactArgs(1),
		Example: `  csi-proxyctl volume id 'C:\var\lib\kubelet\pods\UID\volumes\kubernetes.io~csi\pv\mount'`,
	}, "looking for the volume", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		r, err := client.Volume.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: args[0]})
		if err != nil {
			return err
		}
		return a.print(c, map[string]string{"volumeId": r.GetVolumeId()}, r.GetVolumeId())
	})
}

func closestCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "closest PATH", Short: "Print the id of the volume that a path is in", Args: cobra.ExactArgs(1),
	}, "looking for the volume", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		r, err := client.Volume.GetClosestVolumeIDFromTargetPath(ctx, &volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: args[0]})
		if err != nil {
			return err
		}
		return a.print(c, map[string]string{"volumeId": r.GetVolumeId()}, r.GetVolumeId())
	})
}

func mountCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "mount VOLUME PATH", Short: "Mount a volume at a directory, which is made when it is missing", Args: cobra.ExactArgs(2), ValidArgsFunction: a.completeVolumes,
	}, "mounting the volume", func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, args []string) error {
		_, err := client.Volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: args[0], TargetPath: args[1]})
		return err
	})
}

func resizeCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use: "resize VOLUME", Short: "Grow a volume, with its file system, to a size or as far as its disk allows",
		Example: "  csi-proxyctl volume resize Volume{6e0b9e60-5d2f-4f43-9a5e-7a8d5f2b6c11} --size 20Gi",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.completeVolumes,
	}
	var to size
	c.Flags().Var(&to, "size", "of the partition; `bytes`, or with a unit: 20Gi (default: as large as the disk allows)")
	return apiCommand(a, c, "growing the volume", func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, args []string) error {
		_, err := client.Volume.ResizeVolume(ctx, &volumeapi.ResizeVolumeRequest{VolumeId: args[0], SizeBytes: int64(to)})
		return err
	})
}

func flushCommand(a *connection) *cobra.Command {
	return oneVolume(a, "flush", "Write out what Windows holds in memory for a volume", "writing the volume's cache out",
		func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, id string) error {
			_, err := client.Volume.WriteVolumeCache(ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: id})
			return err
		})
}

func formatCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "format VOLUME", Short: "Put an NTFS file system on a blank volume", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeVolumes}
	return deedCommand(a, c, func(args []string) (deed, error) {
		return deed{
			what: "format the volume " + args[0], doing: "formatting the volume",
			effect: "A volume that has NTFS already is left as it is, and one that holds anything else is refused.",
			look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
				return describeVolume(ctx, client, args[0])
			},
			do: func(ctx context.Context, client *csiproxy.Client) error {
				_, err := client.Volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: args[0]})
				return err
			},
		}, nil
	})
}

func unmountCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "unmount VOLUME PATH", Short: "Unmount a volume from a directory, which stays", Args: cobra.ExactArgs(2), ValidArgsFunction: a.completeVolumes}
	return deedCommand(a, c, func(args []string) (deed, error) {
		return deed{
			what: "unmount the volume " + args[0] + " from " + args[1], doing: "unmounting the volume",
			effect: "What is not written yet is written out. Pods that use the path lose the volume.",
			look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
				return describePath(ctx, client, args[1])
			},
			do: func(ctx context.Context, client *csiproxy.Client) error {
				_, err := client.Volume.UnmountVolume(ctx, &volumeapi.UnmountVolumeRequest{VolumeId: args[0], TargetPath: args[1]})
				return err
			},
		}, nil
	})
}
