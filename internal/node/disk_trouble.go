// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// DiskTrouble is a disk that is present and cannot be used.
type DiskTrouble struct {
	Disk    string // "disk 1", or its device interface
	Content string // what it holds in place of a partition table; "": it does not answer
	Err     error  // why it does not answer
}

// Troubles asks every disk, side by side and each for some seconds at most. Content: it also reads the disks that
// Windows calls raw, and returns those that are not blank.
func (d *Disks) Troubles(ctx context.Context, content bool) ([]DiskTrouble, error) {
	return read(ctx, d.node, operation.On("LookAtDisks"), func(o *op) (all []DiskTrouble, _ error) {
		paths, err := o.Kernel.DiskInterfaces()
		if err != nil {
			return nil, errdefs.Errorf(err, "listing the disks")
		}
		for i, a := range forEach(o, paths, operation.DeviceInterface, func(o *op, path string) (DiskTrouble, error) {
			found, err := oneDisk(o, path, func(o *op, d *disk) (string, error) { return o.strangeContent(d, content) })
			return DiskTrouble{Disk: fmt.Sprintf("disk %d", found.number), Content: found.value}, err
		}) {
			switch {
			case errdefs.IsMissing(a.Err): // it has gone meanwhile
			case a.Err != nil:
				all = append(all, DiskTrouble{Disk: paths[i], Err: a.Err})
			case a.Value.Content != "":
				all = append(all, a.Value)
			}
		}
		return all, nil
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
