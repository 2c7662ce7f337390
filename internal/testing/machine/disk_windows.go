// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Microsoft/go-winio/vhd"
	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	native "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/winapitest"
)

// A VirtualDisk is a disk of the machine that is a VHDX file.
type VirtualDisk struct {
	Path string // of the file

	number uint32
	handle syscall.Handle // InvalidHandle while it is detached

	// Openings are the attempts to open it for reading and writing since it was last attached.
	Openings []Opening
}

// An Opening is an attempt to open an attached disk.
type Opening struct {
	After time.Duration // since it was attached
	Err   error
}

// AttachVirtualDisk makes a VHDX and attaches it, raw, until the test ends. A killed test leaves the file, detached.
// Wine ends a process that calls this.
// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-attachvirtualdisk
func AttachVirtualDisk(t testing.TB, bytes int64, sectorSize uint32) (*VirtualDisk, error) {
	t.Helper()
	d := &VirtualDisk{Path: filepath.Join(t.TempDir(), RandomName()+".vhdx"), handle: syscall.InvalidHandle}
	// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-attachvirtualdisk demands it.
	if err := native.New().EnablePrivilege("SeManageVolumePrivilege"); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		err := d.Detach()
		removed(t, "disk "+d.Path, errors.Join(err, Retry(context.Background(), func() error {
			if err := os.Remove(d.Path); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		})))
	})
	if err := d.create(bytes, sectorSize); err != nil {
		return nil, err
	}
	return d, d.attach(t.Context())
}

// OnWine reports whether this is Wine, which has a function that Windows lacks.
func OnWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// create makes the file, which grows as it is written to.
func (d *VirtualDisk) create(bytes int64, sectorSize uint32) error {
	handle, err := vhd.CreateVirtualDisk(d.Path, vhd.VirtualDiskAccessNone, vhd.CreateVirtualDiskFlagNone,
		&vhd.CreateVirtualDiskParameters{
			Version: 2,
			Version2: vhd.CreateVersion2{MaximumSize: uint64(bytes), SectorSizeInBytes: sectorSize,
				PhysicalSectorSizeInByte: max(sectorSize, 4096)},
		})
	if err != nil {
		return err
	}
	return syscall.CloseHandle(handle)
}

// arrivesIn is how long an attached disk may take until it can be opened.
const arrivesIn = 30 * time.Second

// attach attaches the disk for as long as its handle is open, and waits until it can be opened: Windows looks at it
// after the call. Its volumes may get letters, as those of a driver's disk may.
func (d *VirtualDisk) attach(ctx context.Context) error {
	if err := d.open(ctx); err != nil {
		return err
	}
	err := Retry(ctx, func() error {
		return vhd.AttachVirtualDisk(d.handle, vhd.AttachVirtualDiskFlagNone, &vhd.AttachVirtualDiskParameters{Version: 1})
	})
	if err == nil {
		attached := time.Now()
		d.Openings = nil
		err = repeat(ctx, arrivesIn, func(error) bool { return true }, func() (err error) {
			after := time.Since(attached)
			defer func() { d.Openings = append(d.Openings, Opening{after, err}) }()
			if d.number, err = d.find(); err != nil {
				return err
			}
			h, err := d.device()
			if err != nil {
				return err
			}
			return windows.CloseHandle(h)
		})
	}
	if err != nil {
		_ = d.close()
	}
	return err
}

func (d *VirtualDisk) open(ctx context.Context) error {
	return Retry(ctx, func() error {
		handle, err := vhd.OpenVirtualDisk(d.Path, vhd.VirtualDiskAccessNone, vhd.OpenVirtualDiskFlagCachedIO)
		if err == nil {
			d.handle = handle
		}
		return err
	})
}

// close closes the handle and forgets it: its value may soon belong to another one.
func (d *VirtualDisk) close() error {
	handle := d.handle
	d.handle = syscall.InvalidHandle
	return syscall.CloseHandle(handle)
}

// find looks up the number.
func (d *VirtualDisk) find() (number uint32, err error) {
	device, err := vhd.GetVirtualDiskPhysicalPath(d.handle)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(strings.TrimPrefix(strings.ToLower(device), `\\.\physicaldrive`), &number)
	return number, err
}

// Detach pulls the disk, whatever is open or mounted. It does nothing to one that is detached.
func (d *VirtualDisk) Detach() error {
	if d.handle == syscall.InvalidHandle {
		return nil
	}
	err := vhd.DetachVirtualDisk(d.handle)
	if closed := d.close(); err == nil {
		err = closed
	}
	return err
}

// Number returns the disk's number, which may change when it grows.
func (d *VirtualDisk) Number() uint32 { return d.number }

// Attach puts it in again.
func (d *VirtualDisk) Attach() error { return d.attach(context.Background()) }

// await waits until the disk has its volumes again.
func (d *VirtualDisk) await(ctx context.Context, volumes int) error {
	return repeat(ctx, arrivesIn, func(error) bool { return true }, func() error {
		now, err := volumesOn(native.New(), d.number)
		if err == nil && now < volumes {
			err = fmt.Errorf("disk %d has %d volumes, and had %d before it grew", d.number, now, volumes)
		}
		return err
	})
}

// Grow gives the disk a new total size: in place where Windows allows that, which the page of ResizeVirtualDisk leaves
// open, otherwise by pulling it and putting it in again. It returns which.
func (d *VirtualDisk) Grow(bytes int64) (how string, err error) {
	const brief = 2 * time.Second // the refusal of an attached disk may be one of the codes of a held one
	ctx := context.Background()
	volumes, err := volumesOn(native.New(), d.number)
	if err != nil {
		return "", err
	}
	inPlace := repeat(ctx, brief, heldByOthers, func() error { return d.resize(bytes) })
	if inPlace == nil {
		return GrownInPlace, nil
	}
	if err := d.Detach(); err != nil {
		return "", err
	}
	if err := d.open(ctx); err != nil {
		return "", err
	}
	err = Retry(ctx, func() error { return d.resize(bytes) })
	_ = d.close()
	if err != nil {
		return "", fmt.Errorf("in place: %w; detached: %w", inPlace, err)
	}
	if err := d.attach(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("pulled, since in place %v", inPlace), d.await(ctx, volumes)
}

func (d *VirtualDisk) resize(bytes int64) error {
	status := winapitest.ResizeVirtualDisk(windows.Handle(d.handle), 0,
		&winapitest.ResizeParameters{Version: 1, NewSize: uint64(bytes)}, nil)
	if status != 0 {
		return fmt.Errorf("ResizeVirtualDisk to %d bytes: %w", bytes, win32.Errno(status))
	}
	return nil
}

// device opens the disk as others do.
func (d *VirtualDisk) device() (windows.Handle, error) {
	path := fmt.Sprintf(`\\.\PhysicalDrive%d`, d.number)
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return 0, &os.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	return h, nil
}

// Write writes whole sectors to the disk, as another system would.
func (d *VirtualDisk) Write(offset int64, content []byte) error {
	h, err := d.device()
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var n uint32
	return windows.WriteFile(h, content, &n, &windows.Overlapped{Offset: uint32(offset), OffsetHigh: uint32(offset >> 32)})
}

// volumesOn counts the volumes on a disk.
func volumesOn(k kernel.Kernel, number uint32) (volumes int, err error) {
	names, err := k.VolumeNames()
	for _, name := range names {
		h, err := k.OpenDevice(strings.TrimSuffix(name, `\`), 0)
		if err != nil {
			continue // a volume that came or went
		}
		if numbers, err := diskNumbers(h); err == nil && slices.Contains(numbers, number) {
			volumes++
		}
		_ = h.Close()
	}
	return volumes, err
}
