// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

func machineArrivalQuestions() []Question {
	return []Question{
		{44, "What does MSFT_Volume.Format return at once after a control code made the partition, and when does it succeed?",
			askFormatAtOnce},
		{46, "Does a disk go offline while a file on it is open, and what becomes of what was written?", askOfflineInUse},
		{48, `How soon after it was attached can \\.\PhysicalDriveN be opened to write?`, askOpenToWrite},
	}
}

func askFormatAtOnce(q *inquiry) {
	answers := note(q, map[string][]string{})
	for name, refresh := range map[string]bool{"as it is": false,
		"with UpdateHostStorageCache before each attempt": true} {
		volume, _ := q.rawVolume(q.attach().Number())
		answers[name] = q.attempt(func() string {
			if refresh {
				if err := q.Kernel.UpdateStorageCache(); err != nil {
					return "UpdateHostStorageCache: " + verdict(err)
				}
			}
			returned, err := formatVolume(volume)
			switch {
			case err != nil:
				return err.Error()
			case returned == "0":
				return "success"
			}
			return returned
		})
	}
}

func askOfflineInUse(q *inquiry) {
	answers, disk := note(q, map[string]string{}), q.attach().Number()
	volume, p := q.ntfsVolume(disk)
	at := q.mount(volume)
	f, err := os.Create(at + "file")
	q.check(err)
	defer f.Close() // the second time it fails
	write := func(text string, flush bool) {
		_, err := f.WriteString(text)
		answers["write "+text] = fmt.Sprint(err)
		if flush {
			answers["flush "+text] = fmt.Sprint(f.Sync())
		}
	}
	write("flushed,", true)
	write("not flushed,", false)
	v := q.openVolume(volume)
	answers["FSCTL_LOCK_VOLUME"] = verdict(send(v, win32.FSCTL_LOCK_VOLUME, nil))
	_ = v.Close()
	h := q.openDisk(disk)
	defer h.Close()
	answers["take offline"] = timed(func() error {
		return setAttributes(h, win32.DISK_ATTRIBUTE_OFFLINE, win32.DISK_ATTRIBUTE_OFFLINE)
	})
	answers["offline then"] = fmt.Sprint(q.attributes(h).Offline)
	write("offline", true)
	_ = f.Close()
	q.check(setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE))
	q.volumeAt(disk, p.StartingOffset)
	content, err := os.ReadFile(at + "file")
	answers["content, online again"] = fmt.Sprintf("%q %v", content, err)
}

func askOpenToWrite(q *inquiry) {
	answers := note(q, map[string][]string{})
	d, err := machine.AttachVirtualDisk(q, gib, 0)
	q.check(err)
	q.Disks.Add(d.Number(), machine.Identity{})
	answers["new"] = openings(d)
	q.ntfsVolume(d.Number())
	q.check(d.Detach())
	err = d.Attach()
	answers["with a volume"] = openings(d)
	q.check(err)
}

// openings returns how the attempts ended to open a disk that was attached: of equal results, the first.
func openings(d *machine.VirtualDisk) (attempts []string) {
	last := ""
	for _, o := range d.Openings {
		err := o.Err
		if code := syscall.Errno(0); errors.As(err, &code) {
			err = win32.Errno(code)
		}
		if result := verdict(err); result != last {
			attempts, last = append(attempts, fmt.Sprintf("after %v: %s", o.After.Round(time.Millisecond), result)), result
		}
	}
	return attempts
}
