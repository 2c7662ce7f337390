// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
)

func machineArrivalQuestions() []Question {
	return []Question{
		{44, "What does MSFT_Volume.Format return at once after a control code made the partition, and when does it succeed?",
			askFormatAtOnce},
		{46, "Does a disk go offline while a file on it is open, and what becomes of what was written?", askOfflineInUse},
		{48, `How soon after it was attached can \\.\PhysicalDriveN be opened to write?`, askOpenToWrite},
	}
}

func askFormatAtOnce(t testing.TB, s Subject) (any, error) {
	answers := map[string][]string{}
	for name, refresh := range map[string]bool{"as it is": false,
		"with UpdateHostStorageCache before each attempt": true} {
		d, err := s.Attach(t, gib, 0)
		if err != nil {
			return answers, err
		}
		p, err := partitioned(s, d)
		if err != nil {
			return answers, err
		}
		volume, err := volumeAt(s, d, p.StartingOffset)
		if err != nil {
			return answers, err
		}
		answers[name] = s.attempt(func() string {
			if refresh {
				if err := s.Kernel.UpdateStorageCache(); err != nil {
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
	return answers, nil
}

func askOfflineInUse(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	volume, p, err := formatted(s, d)
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
	t.Cleanup(func() { _ = s.Kernel.DeleteVolumeMountPoint(at) })
	f, err := os.Create(at + "file")
	if err != nil {
		return nil, err
	}
	defer f.Close() // the second time it fails
	answers := map[string]string{}
	write := func(text string, flush bool) {
		_, err := f.WriteString(text)
		answers["write "+text] = fmt.Sprint(err)
		if flush {
			answers["flush "+text] = fmt.Sprint(f.Sync())
		}
	}
	write("flushed,", true)
	write("not flushed,", false)
	v, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		return answers, err
	}
	answers["FSCTL_LOCK_VOLUME"] = verdict(send(v, win32.FSCTL_LOCK_VOLUME, nil))
	_ = v.Close()
	h, err := openDisk(s, d)
	if err != nil {
		return answers, err
	}
	defer h.Close()
	answers["take offline"] = timed(func() error {
		return setAttributes(h, win32.DISK_ATTRIBUTE_OFFLINE, win32.DISK_ATTRIBUTE_OFFLINE)
	})
	now, err := attributesOf(h)
	answers["offline then"] = fmt.Sprint(now.Offline, ", ", verdict(err))
	write("offline", true)
	_ = f.Close()
	if err := setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE); err != nil {
		return answers, err
	}
	if _, err := volumeAt(s, d, p.StartingOffset); err != nil {
		return answers, err
	}
	content, err := os.ReadFile(at + "file")
	answers["content, online again"] = fmt.Sprintf("%q %v", content, err)
	return answers, nil
}

func askOpenToWrite(t testing.TB, s Subject) (any, error) {
	d, err := machine.AttachVirtualDisk(t, gib, 0)
	if err != nil {
		return nil, err
	}
	s.Disks.Add(d.Number(), machine.Identity{})
	answers := map[string][]string{"new": openings(d)}
	if _, _, err := formatted(s, d); err != nil {
		return answers, err
	}
	if err := d.Detach(); err != nil {
		return answers, err
	}
	err = d.Attach()
	answers["with a volume"] = openings(d)
	return answers, err
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
