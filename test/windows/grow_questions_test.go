// SPDX-License-Identifier: Apache-2.0

package windows

import (
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

func askGrown(q *inquiry) {
	answer := note(q, &grown{})
	d := q.attach()
	_, p := q.ntfsVolume(d.Number())
	answer.Grown, answer.PartitionBytes = q.grow(d, 2*gib), p.Length+more
	h := q.openDisk(d.Number())
	defer h.Close()
	q.check(updateDriveSize(h))
	start := time.Now()
	answer.FirstGrow = verdict(growPartition(h, p))
	answer.Grow = answer.FirstGrow
	if answer.Grow != "success" {
		_, _ = q.pollUntil(func() (bool, error) {
			answer.Grow = verdict(growPartition(h, p))
			return answer.Grow == "success", nil
		})
	}
	if answer.Grow != "success" { // not without being told
		q.check(send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
		answer.Grow = "after IOCTL_DISK_UPDATE_PROPERTIES: " + verdict(growPartition(h, p))
	}
	answer.GrowAfter = time.Since(start).Round(time.Millisecond).String()

	v := q.openVolume(q.volumeAt(d.Number(), p.StartingOffset)) // again: growing may have pulled it
	defer v.Close()
	start = time.Now()
	length := func() (bool, error) {
		l, err := query(v, win32.IOCTL_DISK_GET_LENGTH_INFO, 8, win32.ParseLengthInformation)
		answer.VolumeLength = l
		return l == answer.PartitionBytes, err
	}
	var err error
	answer.LengthAtOnce, err = length()
	q.check(err)
	answer.ExtendAtOnce = verdict(send(v, win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(answer.PartitionBytes/512)))
	answer.LengthFollows, err = q.pollUntil(length)
	answer.LengthAfter = time.Since(start).Round(time.Millisecond).String()
	q.check(err)
}
