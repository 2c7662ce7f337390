// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// volume is a snapshot of a volume: the partition's place and the file system in it. Values never change; a change of the
// disk makes new ones.
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

// mounted returns nil, or Windows' error for a volume without the file system that a call needs.
func (v *volume) mounted() error {
	if !v.formatted() {
		return win32.ERROR_UNRECOGNIZED_VOLUME
	}
	return nil
}

// readOnly reports whether writes to the volume fail with ERROR_WRITE_PROTECT.
func (v *volume) readOnly() bool { return v.disk.record.ReadOnly }
