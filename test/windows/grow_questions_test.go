// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func growQuestions() []Question {
	return []Question{
		{31, "How soon after IOCTL_DISK_UPDATE_DRIVE_SIZE does IOCTL_DISK_GROW_PARTITION succeed on a grown disk, and how " +
			"soon does the volume's length follow?", askGrown},
	}
}

type grown struct {
	Grown          string // in place or pulled
	FirstGrow      string // at once
	Grow           string // in the end
	GrowAfter      string
	LengthAtOnce   bool
	LengthFollows  bool
	LengthAfter    string
	ExtendAtOnce   string // FSCTL_EXTEND_VOLUME, without waiting for the length
	VolumeLength   int64
	PartitionBytes int64
}

func askGrown(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	_, p, err := formatted(s, d)
	if err != nil {
		return nil, err
	}
	how, err := d.Grow(2 * gib)
	if err != nil {
		return nil, err
	}
	h, err := openDisk(s, d)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if _, err := h.DeviceIoControl(win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 24)); err != nil {
		return nil, err
	}
	const more = 512 * mib
	grow := func() error {
		return send(h, win32.IOCTL_DISK_GROW_PARTITION, win32.GrowPartition{Number: p.Number, BytesToGrow: more}.Bytes())
	}
	answer, start := grown{Grown: how, PartitionBytes: p.Length + more}, time.Now()
	answer.FirstGrow = verdict(grow())
	answer.Grow = answer.FirstGrow
	if answer.Grow != "success" {
		if _, err := s.pollUntil(func() (bool, error) {
			answer.Grow = verdict(grow())
			return answer.Grow == "success",
				nil
		}); err != nil {
			return answer, err
		}
	}
	if answer.Grow != "success" { // not without being told
		if err := send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil); err != nil {
			return answer, err
		}
		answer.Grow = "after IOCTL_DISK_UPDATE_PROPERTIES: " + verdict(grow())
	}
	answer.GrowAfter = time.Since(start).Round(time.Millisecond).String()

	volume, err := volumeAt(s, d, p.StartingOffset) // again: growing may have pulled it
	if err != nil {
		return answer, err
	}
	v, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		return answer, err
	}
	defer v.Close()
	start = time.Now()
	length := func() (bool, error) {
		l, err := query(v, win32.IOCTL_DISK_GET_LENGTH_INFO, 8, win32.ParseLengthInformation)
		answer.VolumeLength = l
		return l == answer.PartitionBytes, err
	}
	if answer.LengthAtOnce, err = length(); err != nil {
		return answer, err
	}
	answer.ExtendAtOnce = verdict(send(v, win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(answer.PartitionBytes/512)))
	answer.LengthFollows, err = s.pollUntil(length)
	answer.LengthAfter = time.Since(start).Round(time.Millisecond).String()
	return answer, err
}
