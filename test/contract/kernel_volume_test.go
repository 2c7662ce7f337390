// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

func volumeVaries() map[string]string {
	const (
		path   = "if a link or mount point is on the way: two calls for each directory on the way are added."
		byText = "with the path: Windows takes it as text, so that each directory on the way is held by a handle of its " +
			"own, with two calls for each. After a sharing violation the call is repeated for 0.5 s."
	)
	return map[string]string{
		"ListVolumesOnDisk": "with all volumes of the node; until each partition has its volume, for 10 s " +
			"at most.",
		"MountVolume": byText +
			" Before, the disk is locked and looked at, so that nothing that the system needs is mounted over: 16 calls.",
		"UnmountVolume":                    byText,
		"ResizeVolume":                     "with the disk: tables are written only where they change.",
		"GetVolumeIDFromTargetPath":        path + " Links are followed one by one.",
		"GetClosestVolumeIDFromTargetPath": path + " Links are followed one by one.",
		"FormatVolume": "ReadAt is called for each part of the volume that must be blank, a hundred " +
			"times or so; an NTFS is listed. All of it is repeated while the volume is busy or not known to the storage " +
			"provider, for 10 s at most.",
	}
}

func volumeExamples() []kernelExample {
	partitioned := func(w *exampleNode) { w.id = w.Raw(1) }
	volumes := func(disk uint32) func(*exampleNode) error {
		return func(w *exampleNode) error { _, err := w.ListVolumesOnDisk(disk); return err }
	}
	volumeAt := func(path string) func(*exampleNode) error {
		return func(w *exampleNode) error { _, err := w.GetVolumeIDFromTargetPath(path); return err }
	}
	closest := func(path string) func(*exampleNode) error {
		return func(w *exampleNode) error { _, err := w.GetClosestVolumeIDFromTargetPath(path); return err }
	}
	mount := func(w *exampleNode) error { return w.MountVolume(w.id, stagingDir) }
	unmount := func(w *exampleNode) error { return w.UnmountVolume(w.id, stagingDir) }
	isFormatted := func(w *exampleNode) error { _, err := w.IsVolumeFormatted(w.id); return err }
	format := func(w *exampleNode) error { return w.FormatVolume(w.id) }
	resize := func(w *exampleNode) error { return w.ResizeVolume(w.id, 0) }
	return []kernelExample{
		{"ListVolumesOnDisk", "one data volume", partitioned, volumes(1)},
		{"ListVolumesOnDisk", "the system disk", nil, volumes(0)},
		{"MountVolume", "a missing directory", withVolume, mount},
		{"MountVolume", "an empty directory", func(w *exampleNode) { withVolume(w); w.OK(w.Mkdir(stagingDir)) }, mount},
		{"MountVolume", "mounted there already", withMount, mount},
		{"UnmountVolume", "mounted", withMount, unmount},
		{"UnmountVolume", "unmounted already", func(w *exampleNode) { withMount(w); w.OK(unmount(w)) }, unmount},
		{"IsVolumeFormatted", "blank", partitioned, isFormatted},
		{"IsVolumeFormatted", "formatted", withVolume, isFormatted},
		{"FormatVolume", "blank", partitioned, format},
		{"FormatVolume", "blank, and not known to the storage provider yet", func(w *exampleNode) {
			partitioned(w)
			w.Fail(csiproxytest.Calls{Function: "FormatVolume", Times: 1}, 40006)
		}, format},
		{"FormatVolume", "formatted already", withVolume, format},
		{"ResizeVolume", "the disk has grown", func(w *exampleNode) { withVolume(w); w.GrowDisk(1, 11<<30) }, resize},
		{"ResizeVolume", "nothing to do", withVolume, resize},
		{"GetVolumeStats", "formatted", withVolume,
			func(w *exampleNode) error { _, _, err := w.GetVolumeStats(w.id); return err }},
		{"GetDiskNumberFromVolumeID", "not mounted", withVolume,
			func(w *exampleNode) error { _, err := w.GetDiskNumberFromVolumeID(w.id); return err }},
		{"GetVolumeIDFromTargetPath", "a mount point", withMount, volumeAt(stagingDir)},
		{"GetVolumeIDFromTargetPath", "a link to a mount point", linked, volumeAt(publishLink)},
		{"GetClosestVolumeIDFromTargetPath", "a link to a mount point", linked, closest(publishLink)},
		{"GetClosestVolumeIDFromTargetPath", "a directory of drive C", nil, closest(plugins)},
		{"WriteVolumeCache", "formatted", withVolume, func(w *exampleNode) error { return w.WriteVolumeCache(w.id) }},
	}
}

// withVolume makes a formatted volume on disk 1.
func withVolume(w *exampleNode) { w.id = w.Formatted(1) }

func withMount(w *exampleNode) {
	withVolume(w)
	w.OK(w.MountVolume(w.id, stagingDir))
}
