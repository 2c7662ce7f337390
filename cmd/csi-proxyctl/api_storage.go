// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	nodestepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

func diskGroup(a *connection) *cobra.Command {
	list := a.runs(a.command("list", "List the disks with their serial numbers and page 83 identifiers"), a.listDisks)
	a.calledBy(list, "ListDiskIDs")
	return group("disk", "Find disks, bring them online, partition them",
		list,
		query(a, "locations", "List the disks with the SCSI addresses at which they are attached",
			csiproxy.DiskClient.ListDiskLocations, showLocations),
		query(a, "stats", "Print how large a disk is", csiproxy.DiskClient.GetDiskStats, showSize, "DISK"),
		query(a, "state", "Print whether a disk is online", csiproxy.DiskClient.GetDiskState,
			func(args []string, r *csiproxy.GetDiskStateResponse) answer {
				return answer{value: map[string]bool{"online": r.GetIsOnline()}, names: args,
					rows: []string{choose(r.GetIsOnline(), "online", "offline")}}
			}, "DISK"),
		changeWith(a, "online", "Bring a disk online and make it writable",
			&csiproxy.SetDiskStateRequest{IsOnline: true}, csiproxy.DiskClient.SetDiskState, "DISK"),
		destructive(change(a, "offline", "Take a disk offline", csiproxy.DiskClient.SetDiskState, "DISK"),
			"Its volumes disappear until it is online again, even if files on them are open."),
		destructive(change(a, "partition", "Give a blank disk a partition table and one partition",
			csiproxy.DiskClient.PartitionDisk, "DISK"),
			"An offline disk is brought online. A disk that has a partition is left as it is, and one that is not blank is "+
				"refused."),
		stageCommand(a),
		change(a, "rescan", "Make Windows look for new, removed and grown disks", csiproxy.DiskClient.Rescan),
	)
}

func stageCommand(a *connection) *cobra.Command {
	request := &nodestepsapi.StageDiskRequest{}
	c := withDryRun(a.command("stage", "Partition, format and mount a disk as a driver stages it, in one call",
		"DISK", "PATH"))
	a.calledBy(c, "StageDisk")
	c.Long = c.Short + `.

What holds anything is neither partitioned nor formatted. --allow adds to the access list of the root directory of a
volume that holds nothing yet, and prints whether the entries are in it. ContainerUser is S-1-5-93-2-2.`
	c.Example = `  csi-proxyctl disk stage 1 'C:\var\lib\kubelet\plugins\mnt' --allow S-1-5-93-2-2=modify`
	allow := c.Flags().StringArray("allow", nil, "`SID=RIGHTS` on an empty volume: read, modify or full; may be repeated")
	a.runs(c, func(ctx context.Context, args []string) (answer, error) {
		request.Disk = &nodestepsapi.StageDiskRequest_DiskNumber{DiskNumber: diskOf(args)}
		request.TargetPath = args[1]
		r, err := invoke(ctx, a, csiproxy.NodeStepsClient.StageDisk, request)
		if err != nil {
			return answer{}, err
		}
		return showStaged(args, r), nil
	})
	return prepared(c, func([]string) error {
		for _, text := range *allow {
			sid, rights, _ := strings.Cut(text, "=")
			known := nodestepsapi.AccessRights_value["ACCESS_RIGHTS_"+strings.ToUpper(rights)]
			if known == 0 {
				return fmt.Errorf("--allow %s: the rights %q are unknown%s", text, rights,
					didYouMean(rights, words(nodestepsapi.AccessRights(0).Descriptor())))
			}
			request.Access = append(request.Access, &nodestepsapi.AccessEntry{Sid: sid,
				Rights: nodestepsapi.AccessRights(known)})
		}
		return nil
	})
}

// showSize shows the size of the object that the only argument names.
func showSize[R interface {
	proto.Message
	GetTotalBytes() int64
}](args []string, r R) answer {
	size := fmt.Sprintf("%d (%s)", r.GetTotalBytes(), treeview.Size(r.GetTotalBytes()))
	return answer{value: message{r}, rows: []string{size}, names: args}
}

// showStaged shows the number of a staged disk and, if an access list was asked for, what became of it.
func showStaged(_ []string, r *csiproxy.StageDiskResponse) answer {
	found := answerOf(r)
	found.names = found.rows
	if text, asked := map[csiproxy.AccessResult]string{
		csiproxy.AccessResult_ACCESS_RESULT_ADDED:     "access list: the entries were added",
		csiproxy.AccessResult_ACCESS_RESULT_PRESENT:   "access list: the entries were there already",
		csiproxy.AccessResult_ACCESS_RESULT_NOT_ADDED: "access list: the volume holds files, so entries are missing",
	}[r.GetAccess()]; asked {
		found.rows = append(found.rows, text)
	}
	return found
}

func (a *connection) listDisks(ctx context.Context, _ []string) (answer, error) {
	tree, err := a.tree(ctx)
	if err != nil {
		return answer{}, err
	}
	found := answer{value: tree, lists: true, rows: []string{"DISK\tSERIAL\tPAGE 83"},
		wide: []string{"DISK\tSIZE\tSTATE\tADAPTER\tBUS\tTARGET\tLUN\tSERIAL\tPAGE 83"}}
	for _, d := range tree.Disks {
		found.rows = append(found.rows, cells(d.Number, d.SerialNumber, d.Page83))
		found.wide = append(found.wide, cells(d.Number, d.Size(), d.State(), d.Adapter, d.Bus, d.Target,
			d.LUN, d.SerialNumber, d.Page83))
	}
	return found, nil
}

func showLocations(_ []string, r *csiproxy.ListDiskLocationsResponse) answer {
	numbers := slices.Sorted(maps.Keys(r.GetDiskLocations()))
	found := table("disks", "DISK\tADAPTER\tBUS\tTARGET\tLUN", numbers, func(n uint32) (any, []any) {
		at := r.GetDiskLocations()[n]
		adapter, bus, target, lun := at.GetAdapter(), at.GetBus(), at.GetTarget(), at.GetLUNID()
		return map[string]any{"diskNumber": n, "adapter": adapter, "bus": bus, "target": target, "lun": lun},
			[]any{n, adapter, bus, target, lun}
	})
	found.lists = true
	return found
}

func volumeGroup(a *connection) *cobra.Command {
	resized := &csiproxy.ResizeVolumeRequest{}
	resize := withDryRun(calls(a, a.command("resize",
		"Grow a volume, with its file system, to a size or as far as its disk allows; prints the file system's size",
		"VOLUME"), resized, resizeVolume,
		func(args []string, r *csiproxy.GetVolumeStatsResponse) answer {
			found := showSize(args, r)
			if size := resized.GetSizeBytes(); size > 0 && r.GetTotalBytes() > size {
				found.rows = append(found.rows, "it is larger than --size already, and no volume shrinks")
			}
			return found
		}))
	resize.Flags().Var((*size)(&resized.SizeBytes), "size",
		"of the partition; `bytes`, or with a unit: 20Gi (default: as large as the disk allows)")
	c := group("volume", "Find, format, mount, measure and grow volumes",
		listVolumesCommand(a),
		query(a, "stats", "Print how large a volume's file system is, and how much of it is used",
			csiproxy.VolumeClient.GetVolumeStats, func(args []string, r *csiproxy.GetVolumeStatsResponse) answer {
				return answer{value: message{r}, names: args,
					rows: []string{"\tBYTES\t", inBytes("total", r.GetTotalBytes()), inBytes("used", r.GetUsedBytes())}}
			}, "VOLUME"),
		query(a, "disk", "Print the number of the disk that a volume is on",
			csiproxy.VolumeClient.GetDiskNumberFromVolumeID, nil, "VOLUME"),
		query(a, "id", "Print the id of the volume that is mounted at a path",
			csiproxy.VolumeClient.GetVolumeIDFromTargetPath, nil, "PATH"),
		destructive(change(a, "format", "Put an NTFS file system on a blank volume", csiproxy.VolumeClient.FormatVolume,
			"VOLUME"),
			"An empty NTFS is left as it is. One that holds files is refused, unless the agent runs with "+
				"-erase-on-format; a volume that holds anything else is refused."),
		change(a, "mount", "Mount a volume at a directory, which is made when it is missing",
			csiproxy.VolumeClient.MountVolume, "VOLUME", "PATH"),
		unmountCommand(a),
		resize,
		change(a, "flush", "Write Windows' cache of a volume to its disk", csiproxy.VolumeClient.WriteVolumeCache, "VOLUME"),
	)
	c.Long = c.Short + `.

A VOLUME is a volume's id, as csi-proxyctl volume list prints it, of which Volume{GUID} is enough, or a path at which it
is mounted. A PATH is a Windows path in a working directory of the agent, such as kubelet's.`
	return c
}

// resizeVolume grows a volume and reads its new size.
//
//nolint:revive // the order of a method expression, as of the client's own methods
func resizeVolume(c csiproxy.VolumeClient, ctx context.Context, r *csiproxy.ResizeVolumeRequest,
	opts ...grpc.CallOption) (*csiproxy.GetVolumeStatsResponse, error) {
	if _, err := c.ResizeVolume(ctx, r, opts...); err != nil {
		return nil, err
	}
	return c.GetVolumeStats(ctx, &csiproxy.GetVolumeStatsRequest{VolumeId: r.GetVolumeId()}, opts...)
}

// unmountCommand unmounts the volume that is mounted at a path, which is enough to name both.
func unmountCommand(a *connection) *cobra.Command {
	c := destructive(change(a, "unmount", "Unmount a volume from a directory, which stays",
		csiproxy.VolumeClient.UnmountVolume, "VOLUME", "[PATH]"),
		"Unwritten data is written out first. Pods that use the path lose the volume.")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 && !isPath(args[0]) {
			return errors.New(c.CommandPath() + " needs the PATH from which to unmount the volume")
		}
		return run(c, append(args[:1:1], args[len(args)-1]))
	}
	return c
}

func listVolumesCommand(a *connection) *cobra.Command {
	c := a.command("list", "List the ids of the volumes on a disk, or on all disks", "[DISK]")
	a.calledBy(c, "ListVolumesOnDisk")
	partition := c.Flags().Uint32("partition", 0, "only the volume of the partition with this `number` of the disk")
	a.runs(c, func(ctx context.Context, args []string) (answer, error) {
		if len(args) == 0 {
			return a.volumes(ctx, nil)
		}
		r, err := invoke(ctx, a, csiproxy.VolumeClient.ListVolumesOnDisk,
			&csiproxy.ListVolumesOnDiskRequest{DiskNumber: diskOf(args), PartitionNumber: *partition})
		if err != nil || a.output == outputTable || a.output == outputName { // their ids are enough
			return plainVolumes(r.GetVolumeIds()), err
		}
		return a.volumes(ctx, r.GetVolumeIds())
	})
	return prepared(c, func(args []string) error {
		if *partition != 0 && len(args) == 0 {
			return fmt.Errorf("--partition needs DISK: %s", kinds()["DISK"].means)
		}
		return nil
	})
}

func plainVolumes(ids []string) answer {
	return answer{value: ids, rows: ids, names: append([]string{}, ids...), lists: true}
}

// volumes lists volumes of the tree: those of a list or, if it is nil, all.
func (a *connection) volumes(ctx context.Context, ids []string) (answer, error) {
	tree, err := a.tree(ctx)
	if err != nil {
		return answer{}, err
	}
	list := []*treeview.Volume{}
	found := plainVolumes(nil)
	found.wide = []string{"VOLUME\tDISK\tFORMATTED\tSIZE\tUSED"}
	for d, p := range tree.Volumes() {
		v := p.Volume
		if ids != nil && !slices.Contains(ids, v.ID) {
			continue
		}
		size, used, formatted := "", "", choose(v.Formatted, "yes", "no")
		switch {
		case v.Formatted && v.TotalBytes > 0:
			size, used = treeview.Size(v.TotalBytes), treeview.Size(v.UsedBytes)
		case !v.Formatted && v.Unknown != "":
			formatted = "unknown"
		}
		v.DiskNumber = &d.Number
		list = append(list, v)
		found.rows = append(found.rows, v.ID)
		found.wide = append(found.wide, cells(v.ID, d.Number, formatted, size, used))
	}
	if len(list) == 0 && len(tree.Unknown) > 0 {
		list = nil
	}
	found.names, found.value = append(found.names, found.rows...), map[string]any{"volumes": list}
	return found, nil
}

func fsGroup(a *connection) *cobra.Command {
	remove := &csiproxy.RmdirRequest{}
	rmdir := destructive(changeWith(a, "rmdir", "Remove an empty directory, a link or a mount point", remove,
		csiproxy.FilesystemClient.Rmdir, "PATH"),
		"A directory must be empty; with --force, files in it are lost. The target of a link or a mount point is not "+
			"touched.")
	rmdir.Flags().BoolVar(&remove.Force, "force", false,
		"remove a directory with all its content, and do nothing if the path is missing")
	usage := query(a, "usage", "Print how full the volume or the share behind a mount point or link is",
		usageOf, showUsage, "PATH")
	usage.Long = usage.Short + `.

The server of a share answers for the account with which the share is mapped, so a quota counts. Windows does not count
inodes.`
	c := group("fs", "Make and remove directories and links",
		usage,
		query(a, "exists", "Print whether there is anything at a path", csiproxy.FilesystemClient.PathExists,
			func(args []string, r *csiproxy.PathExistsResponse) answer {
				return yesNo(args[0], "exists", r.GetExists())
			}, "PATH"),
		query(a, "is-link", "Print whether a path is a link or mount point that leads somewhere",
			csiproxy.FilesystemClient.IsSymlink,
			func(args []string, r *csiproxy.IsSymlinkResponse) answer {
				return yesNo(args[0], "isLink", r.GetIsSymlink())
			}, "PATH"),
		change(a, "mkdir", "Make a directory, with its parents", csiproxy.FilesystemClient.Mkdir, "PATH"),
		change(a, "link", "Make a directory link at a path that leads to a source", csiproxy.FilesystemClient.CreateSymlink,
			"SOURCE", "PATH"),
		rmdir,
		destructive(change(a, "rmdir-contents", "Remove everything in a directory but keep the directory",
			csiproxy.FilesystemClient.RmdirContents, "PATH"),
			"Files in it are lost. The targets of links and mount points are not touched."))
	c.Long = c.Short + `.

A PATH is a Windows path in a working directory of the agent, such as kubelet's. Quote it, because shells interpret \.`
	c.Example = `  csi-proxyctl fs exists 'C:\var\lib\kubelet\pods'`
	return c
}

// usageOf is GetVolume for its sizes: without them it fails.
func usageOf(c csiproxy.NodeStepsClient, ctx context.Context, r *csiproxy.GetVolumeRequest, //nolint:revive // a method
	opts ...grpc.CallOption) (*csiproxy.GetVolumeResponse, error) {
	v, err := c.GetVolume(ctx, r, opts...)
	if err == nil {
		err = csiproxy.SizeError(v)
	}
	return v, err
}

func showUsage(args []string, r *csiproxy.GetVolumeResponse) answer {
	return answer{
		value: map[string]any{"totalBytes": r.GetTotalBytes(), "usedBytes": r.GetUsedBytes(),
			"availableBytes": r.GetAvailableBytes(), "inodes": nil},
		rows: []string{"\tBYTES\t", inBytes("total", r.GetTotalBytes()), inBytes("used", r.GetUsedBytes()),
			inBytes("available", r.GetAvailableBytes()), "inodes\t-\t(not on Windows)"},
		names: args,
	}
}
