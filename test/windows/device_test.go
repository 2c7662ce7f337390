// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// The control codes that questions use, one call each: the results are examined here and nothing is corrected.

const readWrite = win32.GENERIC_READ | win32.GENERIC_WRITE

func openDisk(s Subject, d Disk) (kernel.Handle, error) {
	return s.Kernel.OpenDevice(fmt.Sprintf(`\\.\PhysicalDrive%d`, d.Number()), readWrite)
}

// newDisk attaches a disk and opens it.
func newDisk(t testing.TB, s Subject) (kernel.Handle, error) {
	t.Helper()
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	return openDisk(s, d)
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

func send(h kernel.Handle, code uint32, in []byte) error {
	_, err := h.DeviceIoControl(code, in, nil)
	return err
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

// volumeAt returns the name of the volume that begins on a disk at an offset.
func volumeAt(s Subject, d Disk, offset int64) (volume string, err error) {
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
			if err == nil && len(extents) == 1 && extents[0].DiskNumber == d.Number() && extents[0].StartingOffset == offset {
				volume = name
			}
		}
		return volume != "", err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w %d bytes from the start of disk %d after %v", errNoVolume, offset, d.Number(), s.Timeout)
	}
	return volume, err
}

// partitioned puts a GPT with one data partition on a disk, as the agent does.
func partitioned(s Subject, d Disk) (win32.Partition, error) {
	return partitionedWith(s, d, win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER)
}

// partitionedWith gives the partition these attributes from the start: the volume arrives with them.
func partitionedWith(s Subject, d Disk, attributes uint64) (win32.Partition, error) {
	h, err := openDisk(s, d)
	if err != nil {
		return win32.Partition{}, err
	}
	defer h.Close()
	// whether it comes up with them is R4
	_ = setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE|win32.DISK_ATTRIBUTE_READ_ONLY)
	if err := createGPT(h); err != nil {
		return win32.Partition{}, err
	}
	// A reserved partition may come. How long that takes is R6; a disk without one is as good.
	brief := s
	brief.Timeout = min(s.Timeout, 2*time.Second)
	if _, err := brief.pollUntil(func() (bool, error) {
		l,
			err := layoutOf(h)
		return len(l.Partitions) > 0, err
	}); err != nil {
		return win32.Partition{}, err
	}
	layout, err := layoutOf(h)
	if err != nil {
		return win32.Partition{}, err
	}
	planned, _, err := win32.PlanDataPartition(layout, 16<<20, guid.NewV4)
	if err != nil {
		return win32.Partition{}, err
	}
	planned.Partitions[len(planned.Partitions)-1].Attributes = attributes
	if err := send(h, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, planned.Bytes()); err != nil {
		return win32.Partition{}, err
	}
	if err := send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil); err != nil {
		return win32.Partition{}, err
	}
	layout, err = layoutOf(h)
	if err != nil || len(layout.Partitions) == 0 {
		return win32.Partition{}, fmt.Errorf("%d partitions: %w", len(layout.Partitions), err)
	}
	return layout.Partitions[len(layout.Partitions)-1], nil
}

// formatted makes a volume with an NTFS file system on a disk.
func formatted(s Subject, d Disk) (volume string, p win32.Partition, err error) {
	p, err = partitioned(s, d)
	if err != nil {
		return "", p, err
	}
	volume, err = volumeAt(s, d, p.StartingOffset)
	if err != nil {
		return "", p, err
	}
	_, err = s.format(volume)
	return volume, p, err
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
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &code) && code.Name() != "":
		return code.Name()
	default:
		return err.Error()
	}
}

// makeDirectory makes a directory in an existing one.
func makeDirectory(s Subject, parent, name string) error {
	how := kernel.OpenOptions{
		Access: win32.FILE_LIST_DIRECTORY, Share: win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE,
	}
	dir, err := s.Kernel.OpenFile(nil, `\\?\`+parent, how)
	if err != nil {
		return err
	}
	defer dir.Close()
	how.Disposition = win32.FILE_CREATE
	made, err := s.Kernel.OpenFile(dir, name, how)
	if err != nil {
		return err
	}
	return made.Close()
}
