// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"

	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
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
	partitioned := func(w *exampleNode) { w.must(partitionDisk(1)(w)) }
	return []kernelExample{
		{"ListVolumesOnDisk", "one data volume", partitioned,
			func(w *exampleNode) error { _, err := w.volumes(1); return err }},
		{"ListVolumesOnDisk", "the system disk", nil, func(w *exampleNode) error { _, err := w.volumes(0); return err }},
		{"MountVolume", "a missing directory", withVolume, mountStaging},
		{"MountVolume", "an empty directory", func(w *exampleNode) {
			withVolume(w)
			w.must(makeDirectory(stagingDir)(w))
		}, mountStaging},
		{"MountVolume", "mounted there already", withMount, mountStaging},
		{"UnmountVolume", "mounted", withMount, unmountStaging},
		{"UnmountVolume", "unmounted already", func(w *exampleNode) {
			withMount(w)
			w.must(unmountStaging(w))
		}, unmountStaging},
		{"IsVolumeFormatted", "blank", partitioned, isFormatted},
		{"IsVolumeFormatted", "formatted", withVolume, isFormatted},
		{"FormatVolume", "blank", partitioned, format},
		{"FormatVolume", "blank, and not known to the storage provider yet", func(w *exampleNode) {
			partitioned(w)
			w.Fail(csiproxytest.Calls{Function: "FormatVolume", Times: 1}, "40006")
		}, format},
		{"FormatVolume", "formatted already", withVolume, format},
		{"ResizeVolume", "the disk has grown", func(w *exampleNode) {
			withVolume(w)
			w.GrowDisk(1, 11<<30)
		}, resize},
		{"ResizeVolume", "nothing to do", withVolume, resize},
		{"GetVolumeStats", "formatted", withVolume, func(w *exampleNode) error {
			_, err := w.Volume.GetVolumeStats(w.ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: w.volume(1)})
			return err
		}},
		{"GetDiskNumberFromVolumeID", "not mounted", withVolume, func(w *exampleNode) error {
			_, err := w.Volume.GetDiskNumberFromVolumeID(w.ctx,
				&volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: w.volume(1)})
			return err
		}},
		{"GetVolumeIDFromTargetPath", "a mount point", withMount, askVolumeAt(stagingDir)},
		{"GetVolumeIDFromTargetPath", "a link to a mount point", linked, askVolumeAt(publishLink)},
		{"GetClosestVolumeIDFromTargetPath", "a link to a mount point", linked, closestVolume(publishLink)},
		{"GetClosestVolumeIDFromTargetPath", "a directory of drive C", nil, closestVolume(plugins)},
		{"WriteVolumeCache", "formatted", withVolume, func(w *exampleNode) error {
			_, err := w.Volume.WriteVolumeCache(w.ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: w.volume(1)})
			return err
		}},
	}
}

// withVolume makes a volume on disk 1, mounted makes it and mounts it for staging.
func withVolume(w *exampleNode) {
	w.must(partitionDisk(1)(w))
	w.must(format(w))
}

func withMount(w *exampleNode) {
	withVolume(w)
	w.must(mountStaging(w))
}

func (w *exampleNode) volumes(disk uint32) ([]string, error) {
	r, err := w.Volume.ListVolumesOnDisk(w.ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: disk})
	if err == nil && len(r.GetVolumeIds()) == 0 {
		err = errors.New("it has no volume")
	}
	return r.GetVolumeIds(), err
}

// volume returns the data volume of a disk, read past the API.
func (w *exampleNode) volume(disk uint32) string {
	w.t.Helper()
	for _, d := range w.Tree().GetDisks() {
		for _, p := range d.GetPartitions() {
			if d.GetNumber() == disk && p.GetVolume() != nil {
				return p.GetVolume().GetId()
			}
		}
	}
	w.t.Fatalf("disk %d has no volume", disk)
	return ""
}

func format(w *exampleNode) error {
	_, err := w.Volume.FormatVolume(w.ctx, &volumeapi.FormatVolumeRequest{VolumeId: w.volume(1)})
	return err
}

func isFormatted(w *exampleNode) error {
	_, err := w.Volume.IsVolumeFormatted(w.ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: w.volume(1)})
	return err
}

func mountStaging(w *exampleNode) error {
	_, err := w.Volume.MountVolume(w.ctx, &volumeapi.MountVolumeRequest{VolumeId: w.volume(1), TargetPath: stagingDir})
	return err
}

func unmountStaging(w *exampleNode) error {
	_, err := w.Volume.UnmountVolume(w.ctx, &volumeapi.UnmountVolumeRequest{VolumeId: w.volume(1), TargetPath: stagingDir})
	return err
}

func resize(w *exampleNode) error {
	_, err := w.Volume.ResizeVolume(w.ctx, &volumeapi.ResizeVolumeRequest{VolumeId: w.volume(1)})
	return err
}

func askVolumeAt(path string) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.Volume.GetVolumeIDFromTargetPath(w.ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path})
		return err
	}
}

func closestVolume(path string) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.Volume.GetClosestVolumeIDFromTargetPath(w.ctx,
			&volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
		return err
	}
}
