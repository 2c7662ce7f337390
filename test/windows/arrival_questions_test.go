// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func arrivalQuestions() []Question {
	return []Question{
		{45, "When IOCTL_DISK_ARE_VOLUMES_READY returns, is the name of the volume there?", askVolumesReady},
		{47, "Which of the queries for extents, state, device number and length does an offline volume answer?",
			askOfflineVolume},
	}
}

// volumesReady is IOCTL_DISK_ARE_VOLUMES_READY.
// https://learn.microsoft.com/windows/win32/fileio/ioctl-disk-are-volumes-ready
const volumesReady = 0x0007421C

func askVolumesReady(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	if answers["raw disk"], err = awaitReady(s, d); err != nil {
		return answers, err
	}
	p, err := partitioned(s, d)
	if err != nil {
		return answers, err
	}
	ask := func(when string) error {
		if answers[when], err = awaitReady(s, d); err != nil {
			return err
		}
		start, brief := time.Now(), s
		brief.Timeout = 0
		if _, err := volumeAt(brief, d, p.StartingOffset); err == nil {
			answers[when+", the volume"] = "there"
			return nil
		}
		_, err := volumeAt(s, d, p.StartingOffset)
		answers[when+", the volume"] = fmt.Sprintf("came after another %v", time.Since(start).Round(time.Millisecond))
		return err
	}
	if err := ask("new partition"); err != nil {
		return answers, err
	}
	h, err := openDisk(s, d)
	if err != nil {
		return answers, err
	}
	defer h.Close()
	if err := setAttributes(h, win32.DISK_ATTRIBUTE_OFFLINE, win32.DISK_ATTRIBUTE_OFFLINE); err != nil {
		return answers, err
	}
	if answers["offline"], err = awaitReady(s, d); err != nil {
		return answers, err
	}
	if err := setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE); err != nil {
		return answers, err
	}
	return answers, ask("online again")
}

// awaitReady asks a disk whether its volumes are ready. The call blocks its synchronous handle, so it has one of its
// own, which stays open if the call does not return.
func awaitReady(s Subject, d Disk) (string, error) {
	h, err := openDisk(s, d)
	if err != nil {
		return "", err
	}
	result := make(chan string, 1)
	go func() {
		defer h.Close()
		result <- timed(func() error { return send(h, volumesReady, nil) })
	}()
	limit := min(s.Timeout, 20*time.Second)
	select {
	case text := <-result:
		return text, nil
	case <-time.After(limit):
		return fmt.Sprintf("no answer in %v", limit), nil
	}
}

func askOfflineVolume(t testing.TB, s Subject) (any, error) {
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
	h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	s.Disks.AddVolume(volume) // offline, it may not tell where it lies
	answers := map[string]string{
		"FSCTL_DISMOUNT_VOLUME": verdict(send(h, win32.FSCTL_DISMOUNT_VOLUME, nil)),
		"IOCTL_VOLUME_OFFLINE":  verdict(send(h, win32.IOCTL_VOLUME_OFFLINE, nil)),
	}
	queryVolume(s, volume, "then", answers)
	answers["IOCTL_VOLUME_ONLINE"] = verdict(send(h, win32.IOCTL_VOLUME_ONLINE, nil))
	queryVolume(s, volume, "online again", answers)
	return answers, nil
}

// queryVolume notes which queries a volume answers, of a handle without access and of one for reading and writing.
// IOCTL_VOLUME_IS_OFFLINE succeeds for yes.
func queryVolume(s Subject, volume, when string, answers map[string]string) {
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
func arrival(t testing.TB, s Subject) (map[string]string, error) {
	t.Helper()
	s.Timeout = min(s.Timeout, 20*time.Second) // a volume that refuses is not worth all the time of the question
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	before, err := s.Kernel.VolumeNames()
	if err != nil {
		return nil, err
	}
	p, err := partitioned(s, d)
	if err != nil {
		return nil, err
	}
	answer := map[string]string{"volume": "came, and tells its extents"}
	volume, err := volumeAt(s, d, p.StartingOffset)
	if errors.Is(err, errNoVolume) {
		var appeared []string
		if appeared, err = s.Kernel.VolumeNames(); err != nil {
			return nil, err
		}
		appeared = slices.DeleteFunc(appeared, func(name string) bool { return slices.Contains(before, name) })
		if len(appeared) != 1 {
			answer["volume"] = fmt.Sprintf("none is known to lie there, and %d came", len(appeared))
			return answer, nil
		}
		volume, answer["volume"] = appeared[0], "came, and does not tell its extents"
		s.Disks.AddVolume(volume)
	}
	if err != nil {
		return nil, err
	}
	ask := func(when string) {
		fileSystem, err := s.Kernel.VolumeInformation(volume)
		answer[when+", GetVolumeInformationW"] = fmt.Sprintf("%q %s", fileSystem, verdict(err))
		queryVolume(s, volume, when, answer)
	}
	ask("arrived")
	h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		answer["IOCTL_VOLUME_ONLINE"] = "not tried: opened, " + verdict(err)
		return answer, nil
	}
	answer["IOCTL_VOLUME_ONLINE"] = verdict(send(h, win32.IOCTL_VOLUME_ONLINE, nil))
	_ = h.Close()
	ask("then")
	attempts, _ := s.format(volume)
	answer["format"] = strings.Join(attempts, ", ")
	return answer, nil
}
