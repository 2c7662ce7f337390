// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// disk is an attached disk.
type disk struct {
	node      *Node
	image     *bundle.Image
	record    bundle.Record // as in node.json
	path      string        // its device interface path, in lower case
	layout    ondisk.Layout // read from the image, again after each change of it
	volumes   []*volume     // of the layout, while the disk is online, those that arrive, too; never changed in place
	knownSize int64         // the size that the driver last saw, at IOCTL_DISK_UPDATE_DRIVE_SIZE or its start
	msrIn     int           // after this many readings of the layout the reserved partition appears; 0: none is due
	msrLate   bool          // it appears when a layout is set
	open      map[guid.GUID][]*volumeHandle

	installing installation
	late       map[guid.GUID]lateness // of volumes that came or grew
}

// newDisk opens the image of a disk and reads its layout.
func (n *Node) newDisk(record bundle.Record) (*disk, error) {
	im, err := bundle.Open(n.host, record.Home(n.dir))
	if err != nil {
		return nil, err
	}
	if im.Size < record.ImageBytes {
		problem := fmt.Sprintf("it has %d bytes, and had %d", im.Size, record.ImageBytes)
		return nil, errors.Join(hostfiles.Damaged(im.Path, problem, bundle.RestoreImage), im.File.Close())
	}
	record.ImageBytes = im.Size
	d := &disk{
		node: n, image: im, record: record, path: interfacePath(record), knownSize: im.Size,
		open: map[guid.GUID][]*volumeHandle{}, late: map[guid.GUID]lateness{},
	}
	if err = d.refresh(); err == nil {
		err = d.keepIdentities()
	}
	if err != nil {
		return nil, errors.Join(err, im.File.Close())
	}
	return d, nil
}

func (d *disk) sectorSize() int64 { return int64(d.record.SectorSize) }

// refresh reads the layout and the volumes from the image. Handles on volumes that are gone are invalid then.
func (d *disk) refresh() error {
	defer d.node.retireGone()
	l, err := ondisk.ReadLayout(d.image.File, d.image.Size, int(d.record.SectorSize),
		d.node.state.Switches.ZeroedDiskIsMBR)
	if err != nil {
		return err
	}
	d.layout = l
	before := d.volumes
	d.volumes = nil
	if d.record.Offline || d.installing != installed {
		return nil
	}
	for _, p := range l.VolumePartitions() {
		if p.Attributes&withoutVolume != 0 {
			continue
		}
		v := &volume{disk: d, Partition: p}
		sector := make([]byte, d.record.SectorSize)
		if _, err := d.image.File.ReadAt(sector, p.StartingOffset); err != nil {
			return err
		}
		v.boot, _ = ondisk.ParseBootSector(sector, uint64(p.Length/d.sectorSize()))
		d.volumes = append(d.volumes, v)
		was := int64(0)
		if i := slices.IndexFunc(before, func(b *volume) bool { return b.ID == v.ID }); i >= 0 {
			was = before[i].Length
		}
		if d.node.state.Switches.VolumesArriveLate && was != v.Length {
			d.late[v.ID] = lateness{time.Now().Add(arrivalTime), was}
		}
	}
	return nil
}

// withoutVolume is the attributes of GPT partitions that get no volume on Windows.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt
const withoutVolume = win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN | win32.GPT_ATTRIBUTE_PLATFORM_REQUIRED

// attached reports whether the disk is still in its node: it may be pulled while it is open.
func (d *disk) attached() bool { return d.node.disks[d.record.Number] == d }

// volume returns the volume of the disk that fits, nil if there is none or it has not arrived. Offline disks have none.
func (d *disk) volume(fits func(*volume) bool) *volume {
	i := slices.IndexFunc(d.volumes, fits)
	if i < 0 || !d.attached() || !d.volumes[i].arrived() {
		return nil
	}
	return d.volumes[i]
}

// writable returns ERROR_WRITE_PROTECT for a disk that is read-only, protected or offline: the storage stack does not
// write to offline disks either.
func (d *disk) writable() error {
	if d.record.ReadOnly || d.record.Protected || d.record.Offline {
		return win32.ERROR_WRITE_PROTECT
	}
	return nil
}

// setAttributes changes offline and read-only, in node.json first. A disk that comes online with the identity of an
// online one gets a new identity before, as clones do on Windows, if it was writable.
func (d *disk) setAttributes(offline, readOnly bool) error {
	if d.record.System && offline {
		return ErrSystemDisk
	}
	if d.record.Offline == offline && d.record.ReadOnly == readOnly {
		return nil
	}
	if d.record.Offline && !offline && d.isTwin() {
		if d.record.ReadOnly && d.node.state.Switches.ClonesNeedWritable {
			return win32.ERROR_INVALID_PARAMETER
		}
		if err := d.leaveIdentities(); err != nil {
			return err
		}
	}
	err := d.node.update(func(s *state) {
		r := s.disk(d.record.Image)
		r.Offline, r.ReadOnly = offline, readOnly
	})
	if err != nil {
		return err
	}
	d.record.Offline, d.record.ReadOnly = offline, readOnly
	return d.refresh()
}

// identities returns the disk and partition GUIDs of the online disks except one.
func (all disks) identities(except *disk) map[guid.GUID]bool {
	used := map[guid.GUID]bool{}
	for _, d := range all.list() {
		if d != except && !d.record.Offline {
			for _, id := range d.layout.Identities() {
				used[id] = true
			}
		}
	}
	return used
}

// isTwin reports whether an online disk has an identity of the disk.
func (d *disk) isTwin() bool {
	others := d.node.disks.identities(d)
	return slices.ContainsFunc(d.layout.Identities(), func(id guid.GUID) bool { return others[id] })
}

// other returns the identity that the disk takes where another one has this. It is always the same, so that a start
// finds the files that a death left there.
func (d *disk) other(id guid.GUID) guid.GUID {
	to, _ := guid.NewV5(id, []byte(d.record.Image)) // hashing does not fail
	return to
}

// leaveIdentities gives a twin other identities: first to the files of its volumes, then in its table.
func (d *disk) leaveIdentities() error {
	others, t := d.node.disks.identities(d), *d.layout.GPT
	t.DiskID, t.Partitions = d.other(t.DiskID), slices.Clone(t.Partitions)
	for i, p := range t.Partitions {
		if !others[p.ID] {
			continue
		}
		if err := d.image.Rename(p.ID, d.other(p.ID)); err != nil {
			return err
		}
		t.Partitions[i].ID = d.other(p.ID)
	}
	return d.write(t.Encode())
}

// keepIdentities takes the files back for which leaveIdentities has not come to the table.
func (d *disk) keepIdentities() error {
	for _, id := range d.layout.Identities() {
		if err := d.image.Rename(d.other(id), id); err != nil {
			return err
		}
	}
	return nil
}

// interfacePath returns the device interface path of a disk (GUID_DEVINTERFACE_DISK), in lower case. It has 16
// characters of the product.
func interfacePath(r bundle.Record) string {
	vendor, product := made(r)
	product = strings.ReplaceAll(product[:min(len(product), 16)], " ", "_")
	const form = `\\?\scsi#disk&ven_%s&prod_%s#%d&%s&0&%02x%02x%02x#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}`
	return strings.ToLower(fmt.Sprintf(form, vendor, product, r.Number, r.Image, r.Bus, r.Target, r.LUN))
}

// installation is how far Windows is with a disk that it has never seen. With the switch DisksInstallLate it notices
// the disk when it is told to look, and lists it when the installation was waited for.
type installation int

const (
	installed installation = iota
	notInstalled
	announced
)

// ReenumerateDevices implements kernel.Devices.
func (n *Node) ReenumerateDevices() (err error) {
	defer n.call("CM_Reenumerate_DevNode", "", &err)()
	if !n.privileged(scenario.LoadDriver) {
		return win32.ERROR_ACCESS_DENIED
	}
	n.disks.announce()
	return nil
}

// UpdateStorageCache implements kernel.Devices.
func (n *Node) UpdateStorageCache() (err error) {
	defer n.call("MSFT_StorageSetting.UpdateHostStorageCache", "", &err)()
	n.disks.announce()
	return nil
}

// announce tells Windows to look for new disks.
func (all disks) announce() {
	for _, d := range all {
		if d.installing == notInstalled {
			d.installing = announced
		}
	}
}

// WaitForDeviceInstalls implements kernel.Devices. It takes no time.
func (n *Node) WaitForDeviceInstalls(time.Duration) (err error) {
	defer n.call("CMP_WaitNoPendingInstallEvents", "", &err)()
	for _, d := range n.disks {
		if d.installing == announced {
			d.installing = installed
			if err := d.refresh(); err != nil {
				return err
			}
		}
	}
	return nil
}

// write changes the image, and reads it again.
func (d *disk) write(blocks []ondisk.Block) error {
	return errors.Join(d.image.Write(blocks), d.refresh())
}
