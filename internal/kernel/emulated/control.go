// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// DiskSpec describes a disk that is attached.
type DiskSpec struct {
	SizeBytes    int64  // at least 4 MiB and whole sectors; 0 with Image: the image's
	SerialNumber string // printable ASCII
	Identifiers  []win32.StorageIdentifier
	BusType      uint32 // win32.BusTypeScsi and so on; 0 is SCSI
	Adapter      uint8
	Bus          uint8
	Target       uint8
	LUN          uint8
	LUNAuto      bool // take the lowest LUN that is free at the adapter, bus and target
	Offline      bool
	ReadOnly     bool
	SectorSize   uint32 // 512 or 4096 bytes; 0 is 512

	// Image is a file with the disk's bytes, perhaps one that DetachDisk returned. It is moved into the node. Empty:
	// a blank disk.
	Image string

	// Formatted gives a new disk a GPT with one NTFS volume, as of a disk that has been in use; not with Image.
	Formatted bool
}

const (
	minDiskBytes = 4 << 20
	maxDiskBytes = 16 << 40 // NTFS with clusters of 4 KiB ends there
)

// record makes the description of a disk among others: the number is the lowest that is free.
func (s DiskSpec) record(others []diskState) (diskState, error) {
	r := diskState{
		Image: newImageName(), Serial: s.SerialNumber, Identifiers: slices.Clone(s.Identifiers), BusType: s.BusType,
		Adapter: s.Adapter, Bus: s.Bus, Target: s.Target, LUN: s.LUN, SectorSize: s.SectorSize,
		Offline: s.Offline, ReadOnly: s.ReadOnly,
	}
	if r.BusType == 0 {
		r.BusType = win32.BusTypeScsi
	}
	if r.SectorSize == 0 {
		r.SectorSize = 512
	}
	switch {
	case r.SectorSize != 512 && r.SectorSize != 4096:
		return r, fmt.Errorf("%w: sectors of %d bytes", ErrInvalidSpec, r.SectorSize)
	case s.SizeBytes < minDiskBytes || s.SizeBytes > maxDiskBytes || s.SizeBytes%int64(r.SectorSize) != 0:
		return r, fmt.Errorf("%w: a size of %d bytes is not whole sectors from 4 MiB to 16 TiB", ErrInvalidSpec, s.SizeBytes)
	case s.Formatted && (s.Image != "" || s.SizeBytes < minFormattedBytes):
		return r, fmt.Errorf("%w: to be formatted it must be new and have at least 64 MiB", ErrInvalidSpec)
	case len(r.Serial) > 255 || strings.ContainsFunc(r.Serial, func(c rune) bool { return c < ' ' || c > '~' }):
		return r, fmt.Errorf("%w: the serial number is not up to 255 printable ASCII characters", ErrInvalidSpec)
	}
	for _, id := range r.Identifiers {
		if len(id.Identifier) == 0 || len(id.Identifier) > 255 {
			return r, fmt.Errorf("%w: an identifier of %d bytes", ErrInvalidSpec, len(id.Identifier))
		}
	}
	for slices.ContainsFunc(others, func(o diskState) bool { return o.Number == r.Number }) {
		r.Number++
	}
	if s.LUNAuto {
		r.LUN = 0
	}
	for slices.ContainsFunc(others, r.sameAddress) {
		if !s.LUNAuto || r.LUN == 255 {
			return r, fmt.Errorf("%w: adapter %d, bus %d, target %d, LUN %d is taken", ErrInvalidSpec, r.Adapter, r.Bus, r.Target, r.LUN)
		}
		r.LUN++
	}
	return r, nil
}

func (r diskState) sameAddress(o diskState) bool {
	return r.Adapter == o.Adapter && r.Bus == o.Bus && r.Target == o.Target && r.LUN == o.LUN
}

// AttachDisk adds a disk; it is visible at once and takes the lowest number that is free. A clone of a disk that is
// online comes online with a new identity.
func (n *Node) AttachDisk(spec DiskSpec) (number uint32, err error) {
	n.identity.Lock()
	defer n.identity.Unlock()
	if spec.Image != "" && spec.SizeBytes == 0 {
		info, err := os.Lstat(spec.Image)
		if err != nil {
			return 0, err
		}
		if !info.Mode().IsRegular() {
			return 0, fmt.Errorf("%w: %s is not a regular file", ErrInvalidSpec, spec.Image)
		}
		spec.SizeBytes = info.Size()
	}
	record, err := spec.record(n.state.Load().Disks)
	if err != nil {
		return 0, err
	}
	if record.Offline && n.switches().OfflineDisksReadOnly {
		record.ReadOnly = true
	}
	if err := n.placeImage(spec, record); err != nil {
		return 0, err
	}
	d, err := n.newDisk(record)
	if err != nil {
		return 0, err
	}
	if !record.Offline {
		err = d.leaveIdentities(n.identities(d))
	}
	if err == nil {
		err = n.update(func(s *state) { s.Disks = append(s.Disks, record) })
	}
	if err != nil {
		_ = d.image.file.Close() // nobody saw the disk; its image is put aside at the next start
		return 0, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disks[record.Number] = d
	return record.Number, nil
}

func (n *Node) placeImage(spec DiskSpec, record diskState) error {
	name := record.Image
	if spec.Image == "" {
		if err := n.host.createImage(n.dir, name, spec.SizeBytes); err != nil || !spec.Formatted {
			return err
		}
		return n.host.createDataDisk(n.dir, record)
	}
	info, err := os.Lstat(spec.Image)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > spec.SizeBytes {
		return fmt.Errorf("%w: %s is not a regular file of at most %d bytes", ErrInvalidSpec, spec.Image, spec.SizeBytes)
	}
	if err := n.host.rename(spec.Image, imagePath(n.dir, name)); err != nil {
		return err
	}
	f, err := os.OpenFile(imagePath(n.dir, name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return n.host.truncate(f, spec.SizeBytes)
}

// DetachDisk pulls a disk, whatever is open or mounted. Its image is kept and its path returned; its volumes' files
// stay and are there again when the image is attached again.
func (n *Node) DetachDisk(number uint32) (image string, err error) {
	n.identity.Lock()
	defer n.identity.Unlock()
	d, ok := n.diskNumbered(number)
	switch {
	case !ok:
		return "", fmt.Errorf("disk %d: %w", number, ErrNoSuchDisk)
	case d.record.System:
		return "", fmt.Errorf("detach: %w", ErrSystemDisk)
	}
	if err := d.pull(); err != nil {
		return "", err
	}
	n.mu.Lock()
	delete(n.disks, number)
	n.mu.Unlock()
	n.retireContents()
	image = detachedPath(n.dir, d.record.Image)
	return image, n.host.rename(d.image.path(), image)
}

// pull takes the disk out of node.json and lets go of the image.
func (d *disk) pull() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.image.half { // an image is only kept whole
		if err := d.image.replay(); err != nil {
			return err
		}
	}
	err := d.node.update(func(s *state) {
		s.Disks = slices.DeleteFunc(s.Disks, func(r diskState) bool { return r.Image == d.record.Image })
	})
	if err != nil {
		return err
	}
	d.gone = true
	return d.image.file.Close()
}

// GrowDisk makes a disk larger, up to a new total size in bytes. Tables and volumes stay as they are.
func (n *Node) GrowDisk(number uint32, sizeBytes int64) error {
	d, ok := n.diskNumbered(number)
	if !ok {
		return fmt.Errorf("disk %d: %w", number, ErrNoSuchDisk)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.gone:
		return fmt.Errorf("disk %d: %w", number, ErrNoSuchDisk)
	case sizeBytes < d.image.size:
		return fmt.Errorf("%w: disk %d has %d bytes, more than %d; a disk does not shrink", ErrInvalidSpec, number, d.image.size, sizeBytes)
	case sizeBytes > maxDiskBytes || sizeBytes%d.sectorSize() != 0:
		return fmt.Errorf("%w: a size of %d bytes is not whole sectors up to 16 TiB", ErrInvalidSpec, sizeBytes)
	}
	return d.image.grow(sizeBytes)
}

// SetDiskOnline takes a disk offline or brings it online, as an administrator of the node would. It is idempotent.
func (n *Node) SetDiskOnline(number uint32, online bool) error {
	d, ok := n.diskNumbered(number)
	if !ok {
		return fmt.Errorf("disk %d: %w", number, ErrNoSuchDisk)
	}
	n.identity.Lock()
	d.mu.RLock()
	readOnly := d.record.ReadOnly
	d.mu.RUnlock()
	err := d.setAttributes(!online, readOnly)
	n.identity.Unlock()
	n.retireContents()
	return err
}

// SetDiskReadOnly makes a disk read-only or writable, as a cloud or an administrator would. It is idempotent.
func (n *Node) SetDiskReadOnly(number uint32, readOnly bool) error {
	d, ok := n.diskNumbered(number)
	if !ok {
		return fmt.Errorf("disk %d: %w", number, ErrNoSuchDisk)
	}
	n.identity.Lock()
	defer n.identity.Unlock()
	d.mu.RLock()
	offline := d.record.Offline
	d.mu.RUnlock()
	return d.setAttributes(offline, readOnly)
}

// Reboot restarts the node: every open handle is dead. Disks, their numbers and states, mount points and links stay.
func (n *Node) Reboot() error {
	n.identity.Lock()
	defer n.identity.Unlock()
	n.mu.Lock()
	n.boot++
	contents := append(n.takeContents(func(*content) bool { return true }), n.takeShares()...)
	n.mu.Unlock()
	for _, c := range contents {
		c.retire(errRebooted)
	}
	if err := n.rebootSMB(); err != nil {
		return err
	}
	for _, d := range n.diskList() {
		d.mu.Lock()
		d.open = map[guid.GUID]*volumeOpens{}
		d.knownSize = d.image.size
		d.mu.Unlock()
	}
	if err := n.bootServices(); err != nil {
		return err
	}
	if err := n.rebootISCSI(); err != nil {
		return err
	}
	return n.repairMounts()
}

// HostPath returns where on the host a Windows path is. Links and mount points are followed as for a process on the
// node, the last one too; the last name may be missing.
func (n *Node) HostPath(winPath string) (string, error) {
	p, err := parseWin32(winPath)
	if err != nil {
		return "", failed("CreateFileW", winPath, err)
	}
	at, err := n.resolve(p, true)
	if err != nil {
		return "", failed("CreateFileW", winPath, err)
	}
	defer at.close()
	return at.hostPath(), nil
}

// Readlink returns where a link or mount point leads, as it is shown to people. Anything else is
// ERROR_NOT_A_REPARSE_POINT.
func (n *Node) Readlink(winPath string) (string, error) {
	target, err := n.readlink(winPath)
	return target, failed("FSCTL_GET_REPARSE_POINT", winPath, err)
}

func (n *Node) readlink(winPath string) (string, error) {
	p, err := parseWin32(winPath)
	if err != nil {
		return "", err
	}
	at, err := n.resolve(p, false)
	if err != nil {
		return "", err
	}
	defer at.close()
	switch {
	case at.dir == nil || at.entry != nil && at.entry.tag == 0:
		return "", win32.ERROR_NOT_A_REPARSE_POINT
	case at.entry == nil:
		return "", win32.ERROR_FILE_NOT_FOUND
	}
	r, err := readReparse(at.dir, *at.entry)
	switch {
	case err != nil:
		return "", err
	case r.PrintName != "":
		return r.PrintName, nil
	case strings.HasPrefix(r.SubstituteName, ntPrefix+"Volume{"):
		return verbatimPrefix + strings.TrimPrefix(r.SubstituteName, ntPrefix), nil
	case r.SubstituteName != "":
		return strings.TrimPrefix(r.SubstituteName, ntPrefix), nil
	}
	return "", win32.ERROR_CANT_ACCESS_FILE
}

// DiskImage returns the host path of a disk's image.
func (n *Node) DiskImage(number uint32) (string, error) {
	d, ok := n.diskNumbered(number)
	if !ok {
		return "", fmt.Errorf("disk %d: %w", number, ErrNoSuchDisk)
	}
	return d.image.path(), nil
}

// SystemSerial returns the serial number of the SMBIOS system information.
func (n *Node) SystemSerial() string { return n.state.Load().SystemSerial }
