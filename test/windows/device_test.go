// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// The control codes that questions use, one call each: the results are examined here and nothing is corrected.

const (
	readWrite = win32.GENERIC_READ | win32.GENERIC_WRITE
	shareAll  = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE
	noLetter  = win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER
)

// openDisk opens a disk by its number.
func (s Subject) openDisk(number uint32) (kernel.Handle, error) {
	return s.Kernel.OpenDevice(fmt.Sprintf(`\\.\PhysicalDrive%d`, number), readWrite)
}

func (q *inquiry) openDisk(number uint32) kernel.Handle {
	q.Helper()
	h, err := q.Subject.openDisk(number)
	q.check(err)
	return h
}

func (q *inquiry) openVolume(volume string) kernel.Handle {
	q.Helper()
	h, err := q.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	q.check(err)
	return h
}

// attach attaches a blank disk of 1 GiB.
func (q *inquiry) attach() Disk {
	q.Helper()
	return q.Attach(q, gib, 0)
}

func (q *inquiry) grow(d Disk, bytes int64) (how string) {
	q.Helper()
	how, err := d.Grow(bytes)
	q.check(err)
	return how
}

func query[T any](h kernel.Handle, code uint32, size int, parse func([]byte) (T, error)) (out T, err error) {
	buffer := make([]byte, size)
	n, err := h.DeviceIoControl(code, nil, buffer)
	if err != nil {
		return out, err
	}
	return parse(buffer[:n])
}

func layoutOf(h kernel.Handle) (win32.DriveLayout, error) {
	return query(h, win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, win32.SizeofDriveLayout(128), win32.ParseDriveLayout)
}

func (q *inquiry) layout(h kernel.Handle) win32.DriveLayout {
	q.Helper()
	layout, err := layoutOf(h)
	q.check(err)
	return layout
}

func send(h kernel.Handle, code uint32, in []byte) error {
	_, err := h.DeviceIoControl(code, in, nil)
	return err
}

// updateDriveSize has Windows look at a disk's size again.
func updateDriveSize(h kernel.Handle) error {
	_, err := h.DeviceIoControl(win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 24))
	return err
}

// more is how many bytes growPartition adds to a partition.
const more = 512 * mib

func growPartition(h kernel.Handle, p win32.Partition) error {
	return send(h, win32.IOCTL_DISK_GROW_PARTITION, win32.GrowPartition{Number: p.Number, BytesToGrow: more}.Bytes())
}

// setAttributes sets the attributes of a mask, with either version of the call.
func setAttributes(h kernel.Handle, attributes, mask uint64) (err error) {
	for _, version := range []uint32{40, 16} {
		request := win32.SetDiskAttributes{Version: version, Attributes: attributes, AttributesMask: mask}
		if err = send(h, win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, request.Bytes()); err == nil {
			break
		}
	}
	return err
}

// createGPT writes an empty GPT.
func createGPT(h kernel.Handle) error {
	id, err := guid.NewV4()
	if err != nil {
		return err
	}
	request := win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT, DiskID: id, MaxPartitionCount: 128}
	return send(h, win32.IOCTL_DISK_CREATE_DISK, request.Bytes())
}

// pollUntil asks until a condition holds or its time is over, and reports whether it holds.
func (s Subject) pollUntil(holds func() (bool, error)) (bool, error) {
	deadline := time.Now().Add(s.Timeout)
	for {
		ok, err := holds()
		if ok || err != nil || time.Now().After(deadline) {
			return ok, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// errNoVolume is that of a volume which does not arrive in time. A name without it would be that of another volume, or
// none: format.com without a volume takes the current directory's.
var errNoVolume = errors.New("the partition has no volume")

// findVolume returns the name of the volume that begins on a disk at an offset.
func (s Subject) findVolume(disk uint32, offset int64) (volume string, err error) {
	found, err := s.pollUntil(func() (bool, error) {
		names, err := s.Kernel.VolumeNames()
		for _, name := range names {
			h, err := s.Kernel.OpenDevice(name[:len(name)-1], 0)
			if err != nil {
				continue // it went away meanwhile
			}
			extents, err := query(h, win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, 8+8*24,
				win32.ParseVolumeDiskExtents)
			_ = h.Close()
			if err == nil && len(extents) == 1 && extents[0].DiskNumber == disk && extents[0].StartingOffset == offset {
				volume = name
			}
		}
		return volume != "", err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w %d bytes from the start of disk %d after %v", errNoVolume, offset, disk, s.Timeout)
	}
	return volume, err
}

func (q *inquiry) volumeAt(disk uint32, offset int64) string {
	q.Helper()
	volume, err := q.findVolume(disk, offset)
	q.check(err)
	return volume
}

// partition puts a GPT with one data partition on a disk, as the agent does. The volume arrives with the attributes.
func (q *inquiry) partition(disk uint32, attributes uint64) win32.Partition {
	q.Helper()
	h := q.openDisk(disk)
	defer h.Close()
	// whether it comes up with them is R4
	_ = setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE|win32.DISK_ATTRIBUTE_READ_ONLY)
	q.check(createGPT(h))
	// A reserved partition may come. How long that takes is R6; a disk without one is as good.
	brief := q.Subject
	brief.Timeout = min(q.Timeout, 2*time.Second)
	_, err := brief.pollUntil(func() (bool, error) {
		layout, err := layoutOf(h)
		return len(layout.Partitions) > 0, err
	})
	q.check(err)
	planned, _, err := win32.PlanDataPartition(q.layout(h), 16<<20, guid.NewV4)
	q.check(err)
	planned.Partitions[len(planned.Partitions)-1].Attributes = attributes
	q.check(send(h, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, planned.Bytes()))
	q.check(send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
	made := q.layout(h).Partitions
	if len(made) == 0 {
		q.Fatal("the layout was set, and has no partitions")
	}
	return made[len(made)-1]
}

// rawVolume makes a volume without a file system on a disk.
func (q *inquiry) rawVolume(disk uint32) (volume string, p win32.Partition) {
	q.Helper()
	p = q.partition(disk, noLetter)
	return q.volumeAt(disk, p.StartingOffset), p
}

// ntfsVolume makes a volume with an NTFS file system on a disk.
func (q *inquiry) ntfsVolume(disk uint32) (volume string, p win32.Partition) {
	q.Helper()
	volume, p = q.rawVolume(disk)
	q.format(volume)
	return volume, p
}

func (q *inquiry) format(volume string) {
	q.Helper()
	_, err := q.Subject.format(volume)
	q.check(err)
}

// format formats a volume as soon as Windows does, and returns how each attempt ended: of equal results, the first.
// Windows' storage provider learns late of a partition that a control code made.
func (s Subject) format(volume string) (attempts []string, err error) {
	attempts = s.attempt(func() string {
		if err = s.Kernel.FormatVolume(volume, "NTFS"); err != nil {
			_ = s.Kernel.UpdateStorageCache() // the next attempt shows what came of it
		}
		return verdict(err)
	})
	return attempts, err
}

// attempt makes a call until it results in success or the time is over.
func (s Subject) attempt(call func() (result string)) (attempts []string) {
	start, last := time.Now(), ""
	_, _ = s.pollUntil(func() (bool, error) {
		after := time.Since(start).Round(time.Millisecond)
		result := call()
		if result != last {
			attempts, last = append(attempts, fmt.Sprintf("after %v: %s", after, result)), result
		}
		return result == "success", nil
	})
	return attempts
}

// verdict returns the result of a call in one word.
func verdict(err error) string {
	var code win32.Errno
	var answer *csiproxy.Error
	if errors.As(err, &answer) && answer.Win32 != 0 {
		err = win32.Errno(answer.Win32)
	}
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &code) && code.Name() != "":
		return code.Name()
	default:
		return err.Error()
	}
}

// mountParent is the parent directory of mount points and links, made for the questions.
const mountParent = `C:\var\lib\kubelet\plugins\csiproxy-questions`

// makeDirectory makes a directory in an existing one.
func (s Subject) makeDirectory(parent, name string) error {
	dir, err := s.openDirectory(nil, `\\?\`+parent)
	if err != nil {
		return err
	}
	defer dir.Close()
	made, err := s.Kernel.OpenFile(dir, name, kernel.OpenOptions{Access: win32.FILE_LIST_DIRECTORY, Share: shareAll,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE})
	if err != nil {
		return err
	}
	return made.Close()
}

// mountPoint returns a new, empty directory of the node, with a backslash at its end.
func (q *inquiry) mountPoint() string {
	q.Helper()
	name := "mount-" + rand.Text()
	q.check(q.makeDirectory(mountParent, name))
	return mountParent + `\` + name + `\`
}

// mount mounts a volume until the test ends.
func (q *inquiry) mount(volume string) (at string) {
	q.Helper()
	at = q.mountPoint()
	q.check(q.Kernel.SetVolumeMountPoint(at, volume))
	q.Cleanup(func() { _ = q.Kernel.DeleteVolumeMountPoint(at) })
	return at
}
