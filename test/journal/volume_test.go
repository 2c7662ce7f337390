// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"

	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

func volumeVaries() map[string]string {
	const path = "with the path: two calls for each directory on the way."
	return map[string]string{
		"ListVolumesOnDisk":                "with all volumes of the node; until each partition has its volume, 10 s at most.",
		"MountVolume":                      path,
		"UnmountVolume":                    path,
		"ResizeVolume":                     "with the disk: tables are written only where they change.",
		"GetVolumeIDFromTargetPath":        path + " Links are gone through one by one.",
		"GetClosestVolumeIDFromTargetPath": path + " Links are gone through one by one.",
		"FormatVolume":                     "an offset is read for each end of the volume that has to be blank.",
	}
}

func volumeExamples() []example {
	partitioned := func(w *world) { w.must(partition(1)(w)) }
	return []example{
		{"ListVolumesOnDisk", "one data volume", partitioned, func(w *world) error { _, err := w.volumes(1); return err }},
		{"ListVolumesOnDisk", "the system disk", nil, func(w *world) error { _, err := w.volumes(0); return err }},
		{"MountVolume", "a missing directory", formatted, mount},
		{"MountVolume", "an empty directory", func(w *world) {
			formatted(w)
			w.must(mkdir(staging)(w))
		}, mount},
		{"MountVolume", "mounted there already", mounted, mount},
		{"UnmountVolume", "mounted", mounted, unmount},
		{"UnmountVolume", "unmounted already", func(w *world) {
			mounted(w)
			w.must(unmount(w))
		}, unmount},
		{"IsVolumeFormatted", "blank", partitioned, isFormatted},
		{"IsVolumeFormatted", "formatted", formatted, isFormatted},
		{"FormatVolume", "blank", partitioned, format},
		{"FormatVolume", "formatted already", formatted, format},
		{"ResizeVolume", "the disk has grown", func(w *world) {
			formatted(w)
			w.GrowDisk(1, 11<<30)
		}, resize},
		{"ResizeVolume", "nothing to do", formatted, resize},
		{"GetVolumeStats", "formatted", formatted, func(w *world) error {
			_, err := w.Volume.GetVolumeStats(w.ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: w.volume(1)})
			return err
		}},
		{"GetDiskNumberFromVolumeID", "not mounted", formatted, func(w *world) error {
			_, err := w.Volume.GetDiskNumberFromVolumeID(w.ctx, &volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: w.volume(1)})
			return err
		}},
		{"GetVolumeIDFromTargetPath", "a mount point", mounted, volumeAt(staging)},
		{"GetVolumeIDFromTargetPath", "a link to a mount point", linked, volumeAt(publish)},
		{"GetClosestVolumeIDFromTargetPath", "a link to a mount point", linked, closest(publish)},
		{"GetClosestVolumeIDFromTargetPath", "a directory of drive C", nil, closest(plugins)},
		{"WriteVolumeCache", "formatted", formatted, func(w *world) error {
			_, err := w.Volume.WriteVolumeCache(w.ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: w.volume(1)})
			return err
		}},
	}
}

// formatted makes a volume on disk 1, mounted makes it and mounts it for staging.
func formatted(w *world) {
	w.must(partition(1)(w))
	w.must(format(w))
}

func mounted(w *world) {
	formatted(w)
	w.must(mount(w))
}

func (w *world) volumes(disk uint32) ([]string, error) {
	r, err := w.Volume.ListVolumesOnDisk(w.ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: disk})
	if err == nil && len(r.GetVolumeIds()) == 0 {
		err = errors.New("it has no volume")
	}
	return r.GetVolumeIds(), err
}

// volume is the data volume of a disk, read past the API.
func (w *world) volume(disk uint32) string {
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

func format(w *world) error {
	_, err := w.Volume.FormatVolume(w.ctx, &volumeapi.FormatVolumeRequest{VolumeId: w.volume(1)})
	return err
}

func isFormatted(w *world) error {
	_, err := w.Volume.IsVolumeFormatted(w.ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: w.volume(1)})
	return err
}

func mount(w *world) error {
	_, err := w.Volume.MountVolume(w.ctx, &volumeapi.MountVolumeRequest{VolumeId: w.volume(1), TargetPath: staging})
	return err
}

func unmount(w *world) error {
	_, err := w.Volume.UnmountVolume(w.ctx, &volumeapi.UnmountVolumeRequest{VolumeId: w.volume(1), TargetPath: staging})
	return err
}

func resize(w *world) error {
	_, err := w.Volume.ResizeVolume(w.ctx, &volumeapi.ResizeVolumeRequest{VolumeId: w.volume(1)})
	return err
}

func volumeAt(path string) func(*world) error {
	return func(w *world) error {
		_, err := w.Volume.GetVolumeIDFromTargetPath(w.ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path})
		return err
	}
}

func closest(path string) func(*world) error {
	return func(w *world) error {
		_, err := w.Volume.GetClosestVolumeIDFromTargetPath(w.ctx, &volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
		return err
	}
}
