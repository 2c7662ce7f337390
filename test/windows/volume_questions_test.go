// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func volumeQuestions() []Question {
	return []Question{
		{7, "Does a data partition get a letter with attribute 0x8000000000000000, and without it?", askLetter},
		{10, "What do a name look-up, a flush and a removal of the mount point come to after a surprise removal?",
			askSurprise},
		{11, "What do GetDiskFreeSpaceExW, GetVolumeInformationW and the first listing of the root directory report about " +
			"a raw and a newly formatted volume?", askFreeSpace},
		{25, "Does FSCTL_EXTEND_VOLUME take all sectors of the partition, or one less, with sectors of 512 and of " +
			"4096 bytes?", askExtend},
	}
}

func askLetter(q *inquiry) {
	answers := note(q, map[string]string{})
	for name, attributes := range map[string]uint64{"without": 0, "with": noLetter} {
		disk := q.attach().Number()
		volume := q.volumeAt(disk, q.partition(disk, attributes).StartingOffset)
		q.format(volume)
		paths, err := q.Kernel.VolumePathNames(volume)
		q.check(err)
		answers[name] = strings.Join(paths, ", ")
	}
}

func askSurprise(q *inquiry) {
	answers := note(q, map[string]string{})
	d := q.attach()
	volume, _ := q.ntfsVolume(d.Number())
	at := q.mount(volume)
	h := q.openVolume(volume)
	defer h.Close()
	q.check(d.Detach())
	answers["flush through an open handle"] = verdict(h.Flush())
	_, err := q.Kernel.VolumeNameForMountPoint(at)
	answers["name look-up"] = verdict(err)
	_, err = q.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	answers["open the volume"] = verdict(err)
	_, err = q.Kernel.VolumeInformation(volume)
	answers["GetVolumeInformationW"] = verdict(err)
	answers["DeleteVolumeMountPointW"] = verdict(q.Kernel.DeleteVolumeMountPoint(at))
}

type freeSpace struct {
	Partition   int64 // bytes
	Call        string
	Total, Free uint64
	FileSystem  string
	Information string
	Listing     string
}

func askFreeSpace(q *inquiry) {
	answers := note(q, map[string]freeSpace{})
	volume, p := q.rawVolume(q.attach().Number())
	ask := func(name string) {
		total, free, err := q.Kernel.DiskFreeSpace(volume)
		answer := freeSpace{Partition: p.Length, Call: verdict(err), Total: total, Free: free}
		answer.FileSystem, err = q.Kernel.VolumeInformation(volume)
		answer.Information = verdict(err)
		root, err := q.Kernel.OpenFile(nil, volume, kernel.OpenOptions{Access: win32.FILE_LIST_DIRECTORY, Share: shareAll,
			Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE})
		if err == nil {
			err = errors.Join(root.Information(win32.FileFullDirectoryRestartInfo, make([]byte, 4096)), root.Close())
		}
		answer.Listing = verdict(err)
		answers[name] = answer
	}
	ask("raw")
	q.format(volume)
	ask("formatted")
}

type extend struct {
	Grown                       string // in place or pulled
	All, OneLess                string
	SectorsBefore, SectorsAfter int64 // of the file system
	PartitionSectors            int64
}

func askExtend(q *inquiry) {
	answers := note(q, map[string]extend{})
	for _, sector := range []uint32{512, 4096} {
		answers[fmt.Sprint(sector)] = q.extend(sector)
	}
}

func (q *inquiry) extend(sector uint32) (answer extend) {
	d := q.Attach(q, 4*gib, sector)
	_, p := q.ntfsVolume(d.Number())
	answer.Grown = q.grow(d, 5*gib) // the partition filled the disk
	disk := q.openDisk(d.Number())
	defer disk.Close()
	q.check(updateDriveSize(disk))
	q.check(send(disk, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
	q.check(growPartition(disk, p))
	h := q.openVolume(q.volumeAt(d.Number(), p.StartingOffset))
	defer h.Close()
	sectors := func() int64 {
		data, err := query(h, win32.FSCTL_GET_NTFS_VOLUME_DATA, 128, win32.ParseNTFSVolumeData)
		q.check(err)
		return data.NumberSectors
	}
	answer.SectorsBefore, answer.PartitionSectors = sectors(), (p.Length+more)/int64(sector)
	answer.All = verdict(send(h, win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(answer.PartitionSectors)))
	if answer.All != "success" {
		answer.OneLess = verdict(send(h, win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(answer.PartitionSectors-1)))
	}
	answer.SectorsAfter = sectors()
	return answer
}
