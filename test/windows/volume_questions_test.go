// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

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

func askLetter(t testing.TB, s Subject) (any, error) {
	answers := map[string]string{}
	for name, attributes := range map[string]uint64{"without": 0, "with": win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER} {
		paths, err := pathsWith(t, s, attributes)
		if err != nil {
			return answers, err
		}
		answers[name] = strings.Join(paths, ", ")
	}
	return answers, nil
}

// pathsWith returns the mount points and letters that a new volume gets if its partition has these attributes.
func pathsWith(t testing.TB, s Subject, attributes uint64) ([]string, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	p, err := partitionedWith(s, d, attributes)
	if err != nil {
		return nil, err
	}
	volume, err := volumeAt(s, d, p.StartingOffset)
	if err != nil {
		return nil, err
	}
	if _, err := s.format(volume); err != nil {
		return nil, err
	}
	return s.Kernel.VolumePathNames(volume)
}

func askSurprise(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	volume, _, err := formatted(s, d)
	if err != nil {
		return nil, err
	}
	at, err := mountPoint(s)
	if err != nil {
		return nil, err
	}
	if err := s.Kernel.SetVolumeMountPoint(at, volume); err != nil {
		return nil, err
	}
	h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if err := d.Detach(); err != nil {
		return nil, err
	}
	answers := map[string]string{"flush through an open handle": verdict(h.Flush())}
	_, err = s.Kernel.VolumeNameForMountPoint(at)
	answers["name look-up"] = verdict(err)
	_, err = s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	answers["open the volume"] = verdict(err)
	_, err = s.Kernel.VolumeInformation(volume)
	answers["GetVolumeInformationW"] = verdict(err)
	answers["DeleteVolumeMountPointW"] = verdict(s.Kernel.DeleteVolumeMountPoint(at))
	return answers, nil
}

type freeSpace struct {
	Partition   int64 // bytes
	Call        string
	Total, Free uint64
	FileSystem  string
	Information string
	Listing     string
}

func askFreeSpace(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	p, err := partitioned(s, d)
	if err != nil {
		return nil, err
	}
	volume, err := volumeAt(s, d, p.StartingOffset)
	if err != nil {
		return nil, err
	}
	answers := map[string]freeSpace{}
	ask := func(name string) {
		total, free, err := s.Kernel.DiskFreeSpace(volume)
		answer := freeSpace{Partition: p.Length, Call: verdict(err), Total: total, Free: free}
		fileSystem, err := s.Kernel.VolumeInformation(volume)
		answer.FileSystem, answer.Information = fileSystem, verdict(err)
		root, err := s.Kernel.OpenFile(nil, volume, kernel.OpenOptions{Access: win32.FILE_LIST_DIRECTORY, Share: shareAll,
			Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE})
		if err == nil {
			err = errors.Join(root.Information(win32.FileFullDirectoryRestartInfo, make([]byte, 4096)), root.Close())
		}
		answer.Listing = verdict(err)
		answers[name] = answer
	}
	ask("raw")
	if _, err := s.format(volume); err != nil {
		return answers, err
	}
	ask("formatted")
	return answers, nil
}

type extend struct {
	Grown                       string // in place or pulled
	All, OneLess                string
	SectorsBefore, SectorsAfter int64 // of the file system
	PartitionSectors            int64
}

func askExtend(t testing.TB, s Subject) (any, error) {
	answers := map[string]extend{}
	for _, sector := range []uint32{512, 4096} {
		answer, err := extendWith(t, s, sector)
		if err != nil {
			return answers, fmt.Errorf("sectors of %d bytes: %w", sector, err)
		}
		answers[fmt.Sprint(sector)] = answer
	}
	return answers, nil
}

func extendWith(t testing.TB, s Subject, sector uint32) (answer extend, err error) {
	d, err := s.Attach(t, 4*gib, sector)
	if err != nil {
		return answer, err
	}
	_, p, err := formatted(s, d)
	if err != nil {
		return answer, err
	}
	disk, err := openDisk(s, d)
	if err != nil {
		return answer, err
	}
	// There is free space behind it: the plan leaves none, so the disk grows first.
	_ = disk.Close()
	if answer.Grown, err = d.Grow(5 * gib); err != nil {
		return answer, err
	}
	if disk, err = openDisk(s, d); err != nil {
		return answer, err
	}
	defer disk.Close()
	if _, err := disk.DeviceIoControl(win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 24)); err != nil {
		return answer, err
	}
	if err := send(disk, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil); err != nil {
		return answer, err
	}
	if err := send(disk, win32.IOCTL_DISK_GROW_PARTITION,
		win32.GrowPartition{Number: p.Number, BytesToGrow: 512 * mib}.Bytes()); err != nil {
		return answer, err
	}
	volume, err := volumeAt(s, d, p.StartingOffset)
	if err != nil {
		return answer, err
	}
	h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		return answer, err
	}
	defer h.Close()
	before, err := query(h, win32.FSCTL_GET_NTFS_VOLUME_DATA, 128, win32.ParseNTFSVolumeData)
	if err != nil {
		return answer, err
	}
	answer.SectorsBefore, answer.PartitionSectors = before.NumberSectors, (p.Length+512*mib)/int64(sector)
	answer.All = verdict(send(h, win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(answer.PartitionSectors)))
	if answer.All != "success" {
		answer.OneLess = verdict(send(h, win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(answer.PartitionSectors-1)))
	}
	after, err := query(h, win32.FSCTL_GET_NTFS_VOLUME_DATA, 128, win32.ParseNTFSVolumeData)
	answer.SectorsAfter = after.NumberSectors
	return answer, err
}

// mountParent is the parent directory of mount points and links, made for the questions.
const mountParent = `C:\var\lib\kubelet\plugins\csiproxy-questions`

// mountPoint returns a new, empty directory of the node, with a backslash at its end.
func mountPoint(s Subject) (string, error) {
	name := "mount-" + rand.Text()
	if err := makeDirectory(s, mountParent, name); err != nil {
		return "", err
	}
	return mountParent + `\` + name + `\`, nil
}
