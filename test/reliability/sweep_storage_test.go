// SPDX-License-Identifier: Apache-2.0

package reliability

import "strings"

const (
	plugins       = `C:\var\lib\kubelet\plugins`
	staging       = plugins + `\csi\staging`
	publish       = `C:\var\lib\kubelet\pods\publish`
	bystanderPath = plugins + `\bystander`
)

// swept is one call of a method on a node in one state.
type swept struct {
	method  string // of a hub, "Disk/PartitionDisk"
	when    string
	prepare func(*world) // nil: the node as it is
	call    func(*world) error
	// retry is what drivers do after a failure, if it is more than repeating the call.
	retry func(*world) error
	// disk: the call works on theDisk, which may go away meanwhile.
	disk bool
	// sparse: the call is made of others, each of which is an example itself, so of its points only one in so many is
	// tried.
	sparse int
	// shared: another driver uses the share, which stays mapped whatever happens.
	shared bool
}

// byNumber reports whether the call names a disk by its number, which is another disk's if that comes in its place.
func (e swept) byNumber() bool { return strings.HasPrefix(e.method, "Disk/") }

func (e swept) again(w *world) error {
	if e.retry != nil {
		return e.retry(w)
	}
	return e.call(w)
}

func diskExamples() []swept {
	return []swept{
		{method: "Disk/PartitionDisk", when: "blank", call: partition(theDisk), disk: true},
		{method: "Disk/PartitionDisk", when: "blank and offline", call: partition(offlineDisk)},
		{method: "Disk/PartitionDisk", when: "partitioned", prepare: mustDo(partition(theDisk)),
			call: partition(theDisk), disk: true},
		{method: "Disk/PartitionDisk", when: "with data", call: partition(bystander)},
		{method: "Disk/Rescan", when: "a disk has grown", prepare: func(w *world) {
			inUse(w)
			w.OK(w.emulated.GrowDisk(theDisk, grownBytes))
		}, call: (*world).Rescan, disk: true},
		{method: "Disk/SetDiskState", when: "online", call: setState(offlineDisk, true)},
		{method: "Disk/SetDiskState", when: "online, with a volume", prepare: func(w *world) {
			inUse(w)
			w.OK(setState(theDisk, false)(w))
		}, call: setState(theDisk, true), disk: true},
		{method: "Disk/SetDiskState", when: "offline, in use", prepare: inUse, call: setState(theDisk, false), disk: true},
	}
}

func volumeExamples() []swept {
	return []swept{
		{method: "Volume/ListVolumesOnDisk", when: "a volume", prepare: formatted, call: listVolumes, disk: true},
		{method: "Volume/MountVolume", when: "a missing directory", prepare: formatted,
			call: mountAt(theDisk, staging), disk: true},
		{method: "Volume/MountVolume", when: "mounted there already", prepare: inUse,
			call: mountAt(theDisk, staging), disk: true},
		{method: "Volume/UnmountVolume", when: "mounted", prepare: inUse, call: unmount, disk: true},
		{method: "Volume/FormatVolume", when: "blank", prepare: mustDo(partition(theDisk)), call: format, disk: true},
		{method: "Volume/FormatVolume", when: "formatted already", prepare: formatted, call: format, disk: true},
		{method: "Volume/ResizeVolume", when: "in use, the disk has grown", prepare: func(w *world) {
			inUse(w)
			w.OK(w.emulated.GrowDisk(theDisk, grownBytes))
		}, call: resize, disk: true},
		{method: "Volume/WriteVolumeCache", when: "in use", prepare: inUse, call: flush, disk: true},
	}
}

func filesystemExamples() []swept {
	filled := func(w *world) {
		w.OK(mkdir(staging + `\directory\deeper`)(w))
		w.write(staging+`\file`, "content")
		w.write(staging+`\directory\file`, "content")
	}
	linked := func(w *world) {
		inUse(w)
		w.OK(link(w))
	}
	// Before they publish again, drivers remove what an interrupted attempt at publishing left.
	linkAgain := func(w *world) error {
		if is, err := w.IsSymlink(publish); err == nil && is {
			return link(w)
		}
		if err := rmdir(publish, true)(w); err != nil {
			return err
		}
		return link(w)
	}
	return []swept{
		{method: "Filesystem/Mkdir", when: "with its parents", call: mkdir(staging + `\below`)},
		{method: "Filesystem/Rmdir", when: "empty", prepare: mustDo(mkdir(staging)), call: rmdir(staging, false),
			retry: rmdir(staging, true)},
		{method: "Filesystem/Rmdir", when: "force, with files and directories", prepare: filled, call: rmdir(staging, true)},
		{method: "Filesystem/Rmdir", when: "force, a mount point", prepare: inUse, call: rmdir(staging, true), disk: true},
		{method: "Filesystem/Rmdir", when: "a link to a mount point", prepare: linked,
			call: rmdir(publish, true), disk: true},
		{method: "Filesystem/RmdirContents", when: "with files and directories", prepare: filled, call: rmdirContents},
		{method: "Filesystem/CreateSymlink", when: "to a mount point", prepare: inUse, call: link,
			retry: linkAgain, disk: true},
		{method: "Filesystem/CreateSymlink", when: "there already", prepare: linked, call: link,
			retry: linkAgain, disk: true},
	}
}

func mustDo(call func(*world) error) func(*world) {
	return func(w *world) { w.OK(call(w)) }
}

// formatted gives theDisk a volume, inUse mounts it and puts data into it.
func formatted(w *world) {
	w.OK(partition(theDisk)(w))
	w.OK(format(w))
}

func inUse(w *world) {
	formatted(w)
	w.OK(mountAt(theDisk, staging)(w))
	w.write(staging+`\data`, "kept")
}

func partition(number uint32) func(*world) error {
	return func(w *world) error { return w.PartitionDisk(number) }
}

func setState(number uint32, online bool) func(*world) error {
	return func(w *world) error { return w.SetDiskState(number, online) }
}

func listVolumes(w *world) error { _, err := w.ListVolumesOnDisk(theDisk); return err }

// onVolume makes a call with the id of a disk's volume, as a driver that has listed it.
func onVolume(disk uint32, call func(w *world, id string) error) func(*world) error {
	return func(w *world) error {
		id, err := w.volume(disk)
		if err != nil {
			return err
		}
		return call(w, id)
	}
}

func mountAt(disk uint32, path string) func(*world) error {
	return onVolume(disk, func(w *world, id string) error { return w.MountVolume(id, path) })
}

func unmount(w *world) error {
	return onVolume(theDisk, func(w *world, id string) error { return w.UnmountVolume(id, staging) })(w)
}

func format(w *world) error { return onVolume(theDisk, (*world).FormatVolume)(w) }

func resize(w *world) error {
	return onVolume(theDisk, func(w *world, id string) error { return w.ResizeVolume(id, 0) })(w)
}

func flush(w *world) error { return onVolume(theDisk, (*world).WriteVolumeCache)(w) }

func mkdir(path string) func(*world) error { return func(w *world) error { return w.Mkdir(path) } }

func rmdir(path string, force bool) func(*world) error {
	return func(w *world) error { return w.Rmdir(path, force) }
}

func rmdirContents(w *world) error { return w.RmdirContents(staging) }

func link(w *world) error { return w.CreateSymlink(staging, publish) }
