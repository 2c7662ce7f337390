// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func arrivalQuestions() []Question {
	return []Question{
		{45, "When IOCTL_DISK_ARE_VOLUMES_READY returns, is the name of the volume there?", askVolumesReady},
		{47, "Which of the queries for extents, state, device number and length does an offline volume answer?",
			askOfflineVolume},
		{56, "Does a partition's name lead to its volume: new, after its disk was offline, and while the volume is offline?",
			askPartitionName},
	}
}

// askPartitionName compares the volume of a partition, found among all volumes, with those to which its names lead.
func askPartitionName(q *inquiry) {
	answers, disk := note(q, map[string]string{}), q.attach().Number()
	p := q.partition(disk, noLetter)
	ask := func(when string) string {
		before := q.behind(fmt.Sprintf(`\\?\GLOBALROOT\Device\Harddisk%d\Partition%d`, disk, p.Number))
		volume := q.volumeAt(disk, p.StartingOffset)
		answers[when+", before the volume is listed"] = strings.ReplaceAll(before, volume, "its volume")
		for _, form := range []string{`\\?\GLOBALROOT\Device\Harddisk%d\Partition%d`, `\\?\Harddisk%dPartition%d`} {
			name := fmt.Sprintf(form, disk, p.Number)
			answers[when+", "+form] = strings.ReplaceAll(q.behind(name), volume, "its volume")
			mounted, err := q.Kernel.VolumeNameForMountPoint(name + `\`)
			if err != nil {
				mounted = verdict(err)
			}
			answers[when+", "+form+", GetVolumeNameForVolumeMountPointW"] = strings.ReplaceAll(mounted, volume, "its volume")
		}
		return volume
	}
	ask("new")
	h := q.openDisk(disk)
	defer h.Close()
	q.check(setAttributes(h, win32.DISK_ATTRIBUTE_OFFLINE, win32.DISK_ATTRIBUTE_OFFLINE))
	answers["disk offline"] = q.behind(fmt.Sprintf(`\\?\GLOBALROOT\Device\Harddisk%d\Partition%d`, disk, p.Number))
	q.check(setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE))
	volume := ask("disk online again")
	v := q.openVolume(volume)
	defer v.Close()
	q.Disks.AddVolume(volume) // offline, it may not tell where it lies
	answers["IOCTL_VOLUME_OFFLINE"] = verdict(send(v, win32.IOCTL_VOLUME_OFFLINE, nil))
	answers["volume offline"] = strings.ReplaceAll(
		q.behind(fmt.Sprintf(`\\?\GLOBALROOT\Device\Harddisk%d\Partition%d`, disk, p.Number)), volume, "its volume")
	answers["IOCTL_VOLUME_ONLINE"] = verdict(send(v, win32.IOCTL_VOLUME_ONLINE, nil))
}

// behind returns the volume to which the name of a partition leads, or the step at which it leads nowhere.
func (s Subject) behind(partition string) string {
	h, err := s.Kernel.OpenDevice(partition, 0)
	if err != nil {
		return "to open it: " + verdict(err)
	}
	defer h.Close()
	device, err := query(h, win32.IOCTL_MOUNTDEV_QUERY_DEVICE_NAME, 1024, win32.ParseMountdevName)
	if err != nil {
		return "the device's name: " + verdict(err)
	}
	manager, err := s.Kernel.OpenDevice(kernel.MountManager, 0)
	if err != nil {
		return "the mount manager: " + verdict(err)
	}
	defer manager.Close()
	out := make([]byte, 4096)
	n, err := manager.DeviceIoControl(win32.IOCTL_MOUNTMGR_QUERY_POINTS, win32.MountPoint{Device: device}.Bytes(), out)
	if err != nil {
		return "the names of " + device + ": " + verdict(err)
	}
	points, err := win32.ParseMountPoints(out[:n])
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, point := range points {
		names = append(names, strings.Replace(point.Link, `\??\`, `\\?\`, 1)+`\`)
	}
	return strings.Join(names, " ")
}

// volumesReady is IOCTL_DISK_ARE_VOLUMES_READY.
// https://learn.microsoft.com/windows/win32/fileio/ioctl-disk-are-volumes-ready
const volumesReady = 0x0007421C

func askVolumesReady(q *inquiry) {
	answers, disk := note(q, map[string]string{}), q.attach().Number()
	answers["raw disk"] = q.awaitReady(disk)
	p := q.partition(disk, noLetter)
	ask := func(when string) {
		answers[when] = q.awaitReady(disk)
		start, brief := time.Now(), q.Subject
		brief.Timeout = 0
		if _, err := brief.findVolume(disk, p.StartingOffset); err == nil {
			answers[when+", the volume"] = "there"
			return
		}
		q.volumeAt(disk, p.StartingOffset)
		answers[when+", the volume"] = fmt.Sprintf("came after another %v", time.Since(start).Round(time.Millisecond))
	}
	ask("new partition")
	h := q.openDisk(disk)
	defer h.Close()
	q.check(setAttributes(h, win32.DISK_ATTRIBUTE_OFFLINE, win32.DISK_ATTRIBUTE_OFFLINE))
	answers["offline"] = q.awaitReady(disk)
	q.check(setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE))
	ask("online again")
}

// awaitReady asks a disk whether its volumes are ready. The call blocks its synchronous handle, so it has one of its
// own, which stays open if the call does not return.
func (q *inquiry) awaitReady(disk uint32) string {
	q.Helper()
	h := q.openDisk(disk)
	result := make(chan string, 1)
	go func() {
		defer h.Close()
		result <- timed(func() error { return send(h, volumesReady, nil) })
	}()
	limit := min(q.Timeout, 20*time.Second)
	select {
	case text := <-result:
		return text
	case <-time.After(limit):
		return fmt.Sprintf("no answer in %v", limit)
	}
}

func askOfflineVolume(q *inquiry) {
	answers := note(q, map[string]string{})
	volume, _ := q.rawVolume(q.attach().Number())
	h := q.openVolume(volume)
	defer h.Close()
	q.Disks.AddVolume(volume) // offline, it may not tell where it lies
	answers["FSCTL_DISMOUNT_VOLUME"] = verdict(send(h, win32.FSCTL_DISMOUNT_VOLUME, nil))
	answers["IOCTL_VOLUME_OFFLINE"] = verdict(send(h, win32.IOCTL_VOLUME_OFFLINE, nil))
	q.queryVolume(volume, "then", answers)
	answers["IOCTL_VOLUME_ONLINE"] = verdict(send(h, win32.IOCTL_VOLUME_ONLINE, nil))
	q.queryVolume(volume, "online again", answers)
}

// queryVolume notes which queries a volume answers, of a handle without access and of one for reading and writing.
// IOCTL_VOLUME_IS_OFFLINE succeeds for yes.
func (s Subject) queryVolume(volume, when string, answers map[string]string) {
	for how, access := range map[string]uint32{"without access": 0, "to read and write": readWrite} {
		name := when + ", opened " + how
		h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), access)
		answers[name] = verdict(err)
		if err != nil {
			continue
		}
		for code, size := range map[uint32]int{
			win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS: 8 + 8*24, win32.IOCTL_VOLUME_IS_OFFLINE: 0,
			win32.IOCTL_STORAGE_GET_DEVICE_NUMBER: 12, win32.IOCTL_DISK_GET_LENGTH_INFO: 8,
		} {
			_, err := h.DeviceIoControl(code, nil, make([]byte, size))
			answers[name+", "+win32.ControlCodeName(code)] = verdict(err)
		}
		_ = h.Close()
	}
}

// arrival describes the volume of a new partition.
func (q *inquiry) arrival() map[string]string {
	q.Helper()
	s := q.Subject
	s.Timeout = min(s.Timeout, 20*time.Second) // a volume that refuses is not worth all the time of the question
	disk := q.attach().Number()
	before, err := s.Kernel.VolumeNames()
	q.check(err)
	p := q.partition(disk, noLetter)
	answer := map[string]string{"volume": "came, and tells its extents"}
	volume, err := s.findVolume(disk, p.StartingOffset)
	if errors.Is(err, errNoVolume) {
		var appeared []string
		appeared, err = s.Kernel.VolumeNames()
		appeared = slices.DeleteFunc(appeared, func(name string) bool { return slices.Contains(before, name) })
		if err == nil && len(appeared) != 1 {
			answer["volume"] = fmt.Sprintf("none is known to lie there, and %d came", len(appeared))
			return answer
		}
		if err == nil {
			volume, answer["volume"] = appeared[0], "came, and does not tell its extents"
			s.Disks.AddVolume(volume)
		}
	}
	q.check(err)
	answer["its partition leads to"] = strings.ReplaceAll(
		s.behind(fmt.Sprintf(`\\?\GLOBALROOT\Device\Harddisk%d\Partition%d`, disk, p.Number)), volume, "it")
	ask := func(when string) {
		fileSystem, err := s.Kernel.VolumeInformation(volume)
		answer[when+", GetVolumeInformationW"] = fmt.Sprintf("%q %s", fileSystem, verdict(err))
		s.queryVolume(volume, when, answer)
	}
	ask("arrived")
	h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		answer["IOCTL_VOLUME_ONLINE"] = "not tried: opened, " + verdict(err)
		return answer
	}
	answer["IOCTL_VOLUME_ONLINE"] = verdict(send(h, win32.IOCTL_VOLUME_ONLINE, nil))
	_ = h.Close()
	ask("then")
	attempts, _ := s.format(volume)
	answer["format"] = strings.Join(attempts, ", ")
	return answer
}
