// SPDX-License-Identifier: Apache-2.0

package examples

import "strings"

// Where examples stage and publish.
const (
	Plugins = `C:\var\lib\kubelet\plugins`
	Staging = Plugins + `\staging`
	Publish = `C:\var\lib\kubelet\pods\publish`
)

func disk() []Example {
	offline := func(n *Node) { Formatted(n); n.SetDiskOnline(TheDisk, false) }
	return []Example{
		{Method: "disk/ListDiskLocations", When: "four disks",
			Call: func(n *Node) error { _, err := n.ListDiskLocations(); return err }},
		{Method: "disk/ListDiskIDs", When: "four disks, only the last with page 83",
			Call: func(n *Node) error { _, err := n.ListDiskIDs(); return err }},
		{Method: "disk/GetDiskStats", When: "an offline disk",
			Call: func(n *Node) error { _, err := n.GetDiskStats(OfflineDisk); return err }},
		{Method: "disk/GetDiskState", When: "online",
			Call: func(n *Node) error { _, err := n.GetDiskState(TheDisk); return err }},
		{Method: "disk/Rescan", When: "a disk has grown", Prepare: func(n *Node) { InUse(n); n.Grow() },
			Call: func(n *Node) error { return n.Rescan() }, OnTheDisk: true},
		{Method: "disk/PartitionDisk", When: "blank and online", Call: partition(TheDisk), OnTheDisk: true},
		{Method: "disk/PartitionDisk", When: "blank and offline", Call: partition(OfflineDisk)},
		{Method: "disk/PartitionDisk", When: "partitioned", Prepare: partitioned, Call: partition(TheDisk), OnTheDisk: true},
		{Method: "disk/PartitionDisk", When: "partitioned and offline", Prepare: offline, Call: partition(TheDisk),
			OnTheDisk: true},
		{Method: "disk/PartitionDisk", When: "with data", Call: partition(Bystander)},
		{Method: "disk/SetDiskState", When: "offline, blank: online", Call: setState(OfflineDisk, true)},
		{Method: "disk/SetDiskState", When: "offline, with a mounted volume: online",
			Prepare: func(n *Node) { InUse(n); n.OK(n.SetDiskState(TheDisk, false)) },
			Call:    setState(TheDisk, true), OnTheDisk: true},
		{Method: "disk/SetDiskState", When: "online, with a volume: online", Prepare: Formatted,
			Call: setState(TheDisk, true), OnTheDisk: true},
		{Method: "disk/SetDiskState", When: "online, in use: offline", Prepare: InUse, Call: setState(TheDisk, false),
			OnTheDisk: true},
		{Method: "disk/SetDiskState", When: "offline: offline", Call: setState(OfflineDisk, false)},
	}
}

func partition(number uint32) func(*Node) error {
	return func(n *Node) error { return n.PartitionDisk(number) }
}

func setState(number uint32, online bool) func(*Node) error {
	return func(n *Node) error { return n.SetDiskState(number, online) }
}

func volume() []Example {
	volumes := func(disk uint32) func(*Node) error {
		return func(n *Node) error { _, err := n.ListVolumesOnDisk(disk); return err }
	}
	volumeAt := func(path string) func(*Node) error {
		return func(n *Node) error { _, err := n.GetVolumeIDFromTargetPath(path); return err }
	}
	closest := func(path string) func(*Node) error {
		return func(n *Node) error { _, err := n.GetClosestVolumeIDFromTargetPath(path); return err }
	}
	isFormatted := func(n *Node) error { _, err := n.IsVolumeFormatted(n.ID); return err }
	resize := func(n *Node) error { return n.ResizeVolume(n.ID, 0) }
	return []Example{
		{Method: "volume/ListVolumesOnDisk", When: "one data volume", Prepare: Formatted, Call: volumes(TheDisk),
			OnTheDisk: true},
		{Method: "volume/ListVolumesOnDisk", When: "the system disk", Call: volumes(0)},
		{Method: "volume/MountVolume", When: "a missing directory", Prepare: Formatted, Call: Mount, OnTheDisk: true},
		{Method: "volume/MountVolume", When: "an empty directory",
			Prepare: func(n *Node) { Formatted(n); n.OK(n.Mkdir(Staging)) }, Call: Mount, OnTheDisk: true},
		{Method: "volume/MountVolume", When: "mounted there already", Prepare: InUse, Call: Mount, OnTheDisk: true},
		{Method: "volume/UnmountVolume", When: "mounted", Prepare: InUse, Call: Unmount, OnTheDisk: true},
		{Method: "volume/UnmountVolume", When: "unmounted already", Prepare: do(inUse, Unmount), Call: Unmount,
			OnTheDisk: true},
		{Method: "volume/IsVolumeFormatted", When: "blank", Prepare: partitioned, Call: isFormatted},
		{Method: "volume/IsVolumeFormatted", When: "formatted", Prepare: Formatted, Call: isFormatted},
		{Method: "volume/FormatVolume", When: "blank", Prepare: partitioned, Call: Format, OnTheDisk: true},
		{Method: "volume/FormatVolume", When: "formatted already", Prepare: Formatted, Call: Format, OnTheDisk: true},
		{Method: "volume/ResizeVolume", When: "in use, the disk has grown", Prepare: func(n *Node) { InUse(n); n.Grow() },
			Call: resize, OnTheDisk: true},
		{Method: "volume/ResizeVolume", When: "nothing to do", Prepare: Formatted, Call: resize, OnTheDisk: true},
		{Method: "volume/GetVolumeStats", When: "formatted", Prepare: Formatted,
			Call: func(n *Node) error { _, _, err := n.GetVolumeStats(n.ID); return err }},
		{Method: "volume/GetDiskNumberFromVolumeID", When: "not mounted", Prepare: Formatted,
			Call: func(n *Node) error { _, err := n.GetDiskNumberFromVolumeID(n.ID); return err }},
		{Method: "volume/GetVolumeIDFromTargetPath", When: "a mount point", Prepare: InUse, Call: volumeAt(Staging)},
		{Method: "volume/GetVolumeIDFromTargetPath", When: "a link to a mount point", Prepare: linked,
			Call: volumeAt(Publish)},
		{Method: "volume/GetClosestVolumeIDFromTargetPath", When: "a link to a mount point", Prepare: linked,
			Call: closest(Publish)},
		{Method: "volume/GetClosestVolumeIDFromTargetPath", When: "a directory of drive C", Call: closest(Plugins)},
		{Method: "volume/WriteVolumeCache", When: "in use", Prepare: InUse,
			Call: func(n *Node) error { return n.WriteVolumeCache(n.ID) }, OnTheDisk: true},
	}
}

// partitioned is the preparation that makes a volume without a file system on TheDisk.
func partitioned(n *Node) { n.ID = n.Raw(TheDisk) }

// Formatted is the preparation that makes a formatted volume on TheDisk.
func Formatted(n *Node) {
	partitioned(n)
	n.OK(Format(n))
}

// InUse is the preparation that mounts a volume of TheDisk at Staging, with a file in it.
func InUse(n *Node) { n.OK(inUse(n)) }

func inUse(n *Node) error {
	Formatted(n)
	n.OK(Mount(n))
	n.WriteFile(Staging+`\data`, "kept")
	return nil
}

func linked(n *Node) {
	InUse(n)
	n.OK(link(n))
}

// Format formats the volume of TheDisk.
func Format(n *Node) error { return n.FormatVolume(n.ID) }

// Mount mounts the volume of TheDisk at Staging.
func Mount(n *Node) error { return n.MountVolume(n.ID, Staging) }

// Unmount unmounts the volume of TheDisk from Staging.
func Unmount(n *Node) error { return n.UnmountVolume(n.ID, Staging) }

func filesystem() []Example {
	exists := func(path string) func(*Node) error {
		return func(n *Node) error { _, err := n.PathExists(path); return err }
	}
	isLink := func(path string) func(*Node) error {
		return func(n *Node) error { _, err := n.IsSymlink(path); return err }
	}
	empty := do(mkdir(Staging))
	filled := func(n *Node) {
		n.OK(n.Mkdir(Staging + `\directory\deeper`))
		n.WriteFile(Staging+`\file`, "content")
		n.WriteFile(Staging+`\directory\file`, "content")
	}
	deep := func(n *Node) {
		linked(n)
		n.OK(n.Mkdir(Plugins + below(11)))
		n.OK(n.Mkdir(Staging + below(12)))
	}
	// Before they publish again, drivers remove what an interrupted attempt at publishing left.
	linkAgain := func(n *Node) error {
		if is, err := n.IsSymlink(Publish); err == nil && is {
			return link(n)
		}
		if err := n.Rmdir(Publish, true); err != nil {
			return err
		}
		return link(n)
	}
	return []Example{
		{Method: "filesystem/PathExists", When: "a directory", Call: exists(Plugins)},
		{Method: "filesystem/PathExists", When: "a directory, 6 deep", Prepare: deep, Call: exists(Plugins + below(5))},
		{Method: "filesystem/PathExists", When: "a directory, 12 deep", Prepare: deep, Call: exists(Plugins + below(11))},
		{Method: "filesystem/PathExists", When: "missing", Call: exists(`C:\var\lib\kubelet\missing`)},
		{Method: "filesystem/PathExists", When: "missing, 6 deep", Prepare: deep,
			Call: exists(Plugins + below(4) + `\missing`)},
		{Method: "filesystem/PathExists", When: "missing, 12 deep", Prepare: deep,
			Call: exists(Plugins + below(10) + `\missing`)},
		{Method: "filesystem/PathExists", When: "missing, and its parent", Call: exists(Staging + `\missing`)},
		{Method: "filesystem/PathExists", When: "a mount point", Prepare: InUse, Call: exists(Staging)},
		{Method: "filesystem/PathExists", When: "1 below a link", Prepare: deep, Call: exists(Publish + below(1))},
		{Method: "filesystem/PathExists", When: "6 below a link", Prepare: deep, Call: exists(Publish + below(6))},
		{Method: "filesystem/PathExists", When: "12 below a link", Prepare: deep, Call: exists(Publish + below(12))},
		{Method: "filesystem/Mkdir", When: "a directory and its parents", Call: mkdir(Staging + `\below\deeper`)},
		{Method: "filesystem/Mkdir", When: "there already", Call: mkdir(Plugins)},
		{Method: "filesystem/Rmdir", When: "empty", Prepare: empty, Call: rmdir(Staging, false), Retry: rmdir(Staging, true)},
		{Method: "filesystem/Rmdir", When: "force: missing", Call: rmdir(Staging, true)},
		{Method: "filesystem/Rmdir", When: "force: with files and directories", Prepare: filled, Call: rmdir(Staging, true)},
		{Method: "filesystem/Rmdir", When: "force: a mount point", Prepare: InUse, Call: rmdir(Staging, true),
			OnTheDisk: true},
		{Method: "filesystem/Rmdir", When: "force: a link", Prepare: linked, Call: rmdir(Publish, true), OnTheDisk: true},
		{Method: "filesystem/RmdirContents", When: "with files and directories", Prepare: filled, Call: Empty},
		{Method: "filesystem/RmdirContents", When: "empty", Prepare: empty, Call: Empty},
		{Method: "filesystem/CreateSymlink", When: "to a mount point", Prepare: InUse, Call: link, Retry: linkAgain,
			OnTheDisk: true},
		{Method: "filesystem/CreateSymlink", When: "there already", Prepare: linked, Call: link, Retry: linkAgain,
			OnTheDisk: true},
		{Method: "filesystem/IsSymlink", When: "a directory", Call: isLink(Plugins)},
		{Method: "filesystem/IsSymlink", When: "a link to a mount point", Prepare: linked, Call: isLink(Publish)},
		{Method: "filesystem/IsSymlink", When: "a mount point", Prepare: InUse, Call: isLink(Staging)},
	}
}

// below returns the path of so many directories below each other.
func below(levels int) string { return strings.Repeat(`\d`, levels) }

func mkdir(path string) func(*Node) error { return func(n *Node) error { return n.Mkdir(path) } }

func rmdir(path string, force bool) func(*Node) error {
	return func(n *Node) error { return n.Rmdir(path, force) }
}

// Empty removes what is in Staging.
func Empty(n *Node) error { return n.RmdirContents(Staging) }

func link(n *Node) error { return n.CreateSymlink(Staging, Publish) }
