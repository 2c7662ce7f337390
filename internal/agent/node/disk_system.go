// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// systemUses lists the parts of disks that Windows needs.
type systemUses struct {
	parts       []need
	bootUnknown bool // Windows does not tell from which partition it boots
}

type need struct {
	extent win32.DiskExtent
	what   string // runsFrom and so on
}

// The reasons why Windows needs a disk, as the beginning of a sentence that ends with the disk.
const (
	runsFrom    = "Windows runs from"
	bootsFrom   = "Windows boots from"
	mayBootFrom = "Windows may boot from"
	pagesTo     = "Windows keeps a page file on"
	dumpsTo     = "Windows writes crash dumps to"
	recoversBy  = "a recovery environment is on"
	firmware    = "an EFI system partition is"
	activeEntry = "an active partition is"
)

// Registry values that name what Windows needs. The kernel writes SystemPartition at each boot and the session manager
// ExistingPageFiles. PagingFiles is the setting: it counts as soon as it is made.
const (
	setupKey  = `SYSTEM\Setup`
	memoryKey = `SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`
	crashKey  = `SYSTEM\CurrentControlSet\Control\CrashControl`
)

// systemUse returns the parts of disks that Windows itself uses: what it runs and boots from, its page files and its
// dump files. They are compared by their extents, because a volume may have several names.
//
// An operation asks once.
func (o *op) systemUse() (systemUses, error) {
	if o.windows != nil {
		return *o.windows, nil
	}
	n, err := o.askSystemUse()
	if err == nil {
		o.windows = &n
	}
	return n, err
}

func (o *op) askSystemUse() (systemUses, error) {
	directory, err := o.kernel.SystemWindowsDirectory()
	if err != nil {
		return systemUses{}, errdefs.Errorf(err, "asking which drive Windows runs from")
	}
	runs, ok := deviceOf(directory)
	if !ok {
		return systemUses{}, fmt.Errorf("the system directory is %q", directory)
	}
	extents, err := o.extentsInUse(runs)
	if err != nil {
		return systemUses{}, errdefs.Errorf(err, "asking for the disks that Windows runs from")
	}
	n := systemUses{bootUnknown: true}
	n.add(extents, runsFrom)
	known := map[string]bool{runs: true}
	for _, place := range []struct{ key, value, what string }{
		{setupKey, "SystemPartition", bootsFrom},
		{memoryKey, "ExistingPageFiles", pagesTo},
		{memoryKey, "PagingFiles", pagesTo},
		{crashKey, "DedicatedDumpFile", dumpsTo},
		{crashKey, "DumpFile", dumpsTo},
	} {
		paths, err := o.kernel.RegistryStrings(place.key, place.value)
		if err != nil {
			return systemUses{}, errdefs.Errorf(err, "asking what Windows needs (%s)", place.value)
		}
		for _, path := range paths {
			device, ok := deviceOf(path)
			if !ok || known[device] {
				continue
			}
			known[device] = true
			extents, err := o.extentsInUse(device)
			if onNoDisk(err) {
				continue // such as a page file that is set for a drive which is not there
			}
			if err != nil {
				return systemUses{}, errdefs.Errorf(err, "asking for the disks of %s, which Windows needs", device)
			}
			n.add(extents, place.what)
		}
	}
	return n, nil
}

func (n *systemUses) add(e extents, what string) {
	for _, extent := range e {
		n.parts = append(n.parts, need{extent, what})
	}
	n.bootUnknown = n.bootUnknown && (what != bootsFrom || len(e) == 0)
}

// extentsInUse returns the extents of a volume that Windows uses.
func (o *op) extentsInUse(device string) (extents, error) {
	restore, err := o.run.TrackObject(operation.VolumeDevice(device))
	if err != nil {
		return nil, err
	}
	defer restore()
	extents, err := o.deviceExtents(device)
	if err == nil && len(extents) == 0 {
		err = errdefs.Unsupported.Errorf(reason.NoExtents, "Windows does not report which disk %s lies on", device)
	}
	return extents, err
}

// deviceOf returns the name that opens the volume of a file as a device. Windows writes such files as D:\pagefile.sys,
// perhaps with sizes behind it, with \??\ before it, or with the device's name. ?:\pagefile.sys means any drive: none.
func deviceOf(file string) (device string, ok bool) {
	file = strings.TrimPrefix(file, `\??\`)
	if winpath.HasDrive(file) {
		return `\\.\` + strings.ToUpper(file[:2]), true
	}
	first, rest, _ := strings.Cut(file, `\`)
	if strings.HasPrefix(first, "Volume{") {
		return `\\?\` + first, true
	}
	if rest, ok := strings.CutPrefix(rest, `Device\`); first == "" && ok {
		name, _, _ := strings.Cut(rest, `\`)
		return `\\?\GLOBALROOT\Device\` + name, name != ""
	}
	return "", false
}

// onNoDisk reports whether a device is not there, or does not lie on disks.
func onNoDisk(err error) bool {
	return errdefs.IsMissing(err) || errdefs.HasCode(err, win32.ERROR_INVALID_FUNCTION,
		win32.ERROR_NOT_SUPPORTED, win32.ERROR_NOT_READY)
}

// startDisks returns the disks that Windows runs or boots from.
func (n systemUses) startDisks() []uint32 {
	var disks []uint32
	for _, part := range n.parts {
		if part.what == runsFrom || part.what == bootsFrom {
			disks = append(disks, part.extent.DiskNumber)
		}
	}
	return disks
}

// reason returns why Windows needs a disk with this layout, "" if it does not.
func (n systemUses) reason(disk uint32, layout win32.DriveLayout) string {
	return cmp.Or(n.useOf(disk), n.holds(layout))
}

// useOf names the use that Windows makes of a disk, "" for none.
func (n systemUses) useOf(disk uint32) string {
	for _, part := range n.parts {
		if part.extent.DiskNumber == disk {
			return part.what
		}
	}
	return ""
}

// holds names the partition in a layout that Windows or the machine may need, "" if there is none.
func (n systemUses) holds(layout win32.DriveLayout) string {
	switch {
	case slices.ContainsFunc(layout.Partitions, isRecovery):
		return recoversBy
	case n.bootUnknown && slices.ContainsFunc(layout.Partitions,
		func(p win32.Partition) bool { return bootReason(p) != "" }):
		return mayBootFrom
	}
	return ""
}

func isRecovery(p win32.Partition) bool {
	const recovery = 0x27 // PARTITION_MSFT_RECOVERY
	return p.Style == win32.PARTITION_STYLE_GPT && p.Type == win32.PartitionRecovery ||
		p.Style == win32.PARTITION_STYLE_MBR && p.MBRType == recovery
}

// bootReason returns why a machine, this one or another, may start from a partition; "" if none may.
func bootReason(p win32.Partition) string {
	const efi = 0xEF
	switch {
	case p.Style == win32.PARTITION_STYLE_GPT && p.Type == win32.PartitionEFISystem,
		p.Style == win32.PARTITION_STYLE_MBR && p.MBRType == efi:
		return firmware
	case p.Style == win32.PARTITION_STYLE_MBR && p.Boot:
		return activeEntry
	}
	return ""
}

// refuseSystemDisk refuses to do something to a disk that Windows needs.
func (o *op) refuseSystemDisk(d *disk, done string) error {
	n, err := o.systemUse()
	if err != nil {
		return err
	}
	layout, err := d.layout()
	if err != nil { // a disk that fails must still go offline
		o.log().Info("A disk's partitions cannot be read", "disk", d.number, "err", err)
	}
	if what := n.reason(d.number, layout); what != "" {
		return errdefs.FailedPrecondition.Errorf(reason.SystemDisk, "%s disk %d, so it is not %s", what, d.number, done)
	}
	return nil
}

// refuseSystemVolume refuses a volume on a disk that Windows needs, or from which a machine starts, on whatever disk.
func (o *op) refuseSystemVolume(id winpath.VolumeID, done string) error {
	extents, err := o.volumeExtents(id)
	if err != nil {
		return err
	}
	return o.refuseSystemExtents(id, extents, done)
}

func (o *op) refuseSystemExtents(id winpath.VolumeID, all extents, done string) error {
	n, err := o.systemUse()
	if err != nil {
		return err
	}
	for _, extent := range all {
		if err := o.refuseSystemExtent(n, id, extent, done); err != nil {
			return err
		}
	}
	return nil
}

func (o *op) refuseSystemExtent(n systemUses, id winpath.VolumeID, extent win32.DiskExtent, done string) error {
	used := n.useOf(extent.DiskNumber)
	d, err := o.openDisk(extent.DiskNumber, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	layout, partition, err := d.partitionAt(extent.StartingOffset)
	if err != nil {
		return err
	}
	if what := cmp.Or(used, n.holds(layout)); what != "" {
		return errdefs.FailedPrecondition.Errorf(reason.SystemDisk, "%s disk %d, so volume %s on it is not %s",
			what, d.number, id, done)
	}
	if what := bootReason(partition); what != "" {
		return errdefs.FailedPrecondition.Errorf(reason.SystemDisk, "%s volume %s, which is not %s", what, id, done)
	}
	return nil
}
