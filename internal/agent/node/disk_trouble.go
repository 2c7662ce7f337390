// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// DiskTrouble is a disk that is present and cannot be used.
type DiskTrouble struct {
	Disk    string // "disk 1", or "a disk" whose number is not known either
	Content string // what it holds in place of a partition table; "": it does not answer
	Err     error  // why it does not answer
}

// Troubles asks every disk, side by side and each for some seconds at most. Content: it also reads the disks that
// Windows calls raw, and returns those that are not blank.
func (d *Disks) Troubles(ctx context.Context, content bool) ([]DiskTrouble, error) {
	return read(ctx, d.node, operation.On("LookAtDisks"), func(o *op) (all []DiskTrouble, _ error) {
		found, unknown, err := everyDisk(o, func(o *op, d *disk) (string, error) { return o.strangeContent(d, content) })
		for _, d := range found {
			if d.value != "" {
				all = append(all, DiskTrouble{Disk: fmt.Sprintf("disk %d", d.number), Content: d.value})
			}
		}
		for _, d := range unknown {
			if errdefs.IsMissing(d.err) { // it has gone meanwhile
				continue
			}
			name := "a disk"
			if d.number >= 0 {
				name = fmt.Sprintf("disk %d", d.number)
			}
			all = append(all, DiskTrouble{Disk: name, Err: d.err})
		}
		return all, err
	})
}

// strangeContent names what a raw disk holds, "" for one that is blank or has a partition table.
func (o *op) strangeContent(d *disk, read bool) (string, error) {
	layout, err := d.layout()
	if err != nil || !read || layout.Style != win32.PARTITION_STYLE_RAW {
		return "", err
	}
	geometry, err := d.geometry()
	if err != nil {
		return "", err
	}
	open, err := o.openDisk(d.number, win32.GENERIC_READ)
	if err != nil {
		return "", err
	}
	defer open.Close()
	return contentOf(open, operation.Disk(d.number), probesOf(geometry.DiskSize))
}
