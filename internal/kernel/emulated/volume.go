// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// volume is a snapshot of a volume: the partition's place and the file system in it. Values never change; a change of
// the disk makes new ones.
type volume struct {
	disk           *disk
	id             guid.GUID
	number         uint32 // of the partition
	offset, length int64
	efi            bool
	boot           bootSector
}

// formatted reports whether Windows would mount the volume.
func (v *volume) formatted() bool { return v.boot.fileSystem != "" }

// name returns the volume name: \\?\Volume{GUID}\.
func (v *volume) name() string { return volumeName(v.id) }

func volumeName(id guid.GUID) string { return `\\?\Volume{` + id.String() + `}\` }

// sizeBytes returns the size of the file system, in whole clusters.
func (v *volume) sizeBytes() uint64 {
	return v.boot.clusters() * uint64(v.boot.clusterBytes)
}

// offline reports whether Windows left the volume offline at its arrival: automount is off, and nothing has brought it
// online or given it a drive letter or a mount point.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_online
func (v *volume) offline() bool {
	n := v.disk.node
	return n.state.Switches.AutomountOff && !v.disk.record.System && !n.online[v.id] &&
		len(n.state.pathNames(v.id, nil)) == 0
}

// arrivalTime is how long a volume takes to arrive with the switch VolumesArriveLate, by the node's clock.
const arrivalTime = 100 * time.Millisecond

// arriving returns the time until a volume of the disk arrives, 0 or less if it has.
func (d *disk) arriving(id guid.GUID) time.Duration {
	return d.arrivals[id].Sub(d.node.state.Clock.now())
}

// knownLength is the length that a volume had before it grew, and how many calls still find it.
type knownLength struct {
	length int64
	calls  int
}

// knownLength returns the length as the volume knows it.
func (v *volume) knownLength() int64 {
	if k := v.disk.lengths[v.id]; k != nil && k.calls > 0 {
		k.calls--
		return k.length
	}
	return v.length
}

// mounted returns nil, or Windows' error for a volume without the file system that a call needs.
func (v *volume) mounted() error {
	if v.offline() {
		return win32.ERROR_NOT_READY
	}
	if !v.formatted() {
		return win32.ERROR_UNRECOGNIZED_VOLUME
	}
	return nil
}

// readOnly reports whether writes to the volume fail with ERROR_WRITE_PROTECT.
func (v *volume) readOnly() bool { return v.disk.record.ReadOnly }
