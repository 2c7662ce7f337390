// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
)

// Probe asks Plug and Play and the mount manager, which disks and volumes need, one cheap question each, for health
// checks. It calls asking with the kernel function's name before each query, so that a late answer can be attributed.
func (n *Node) Probe(ctx context.Context, asking func(function string)) error {
	_, err := read(ctx, n, operation.On("Probe"), func(o *op) (struct{}, error) {
		asking("DiskInterfaces")
		if _, err := o.kernel.DiskInterfaces(); err != nil {
			return struct{}{}, errdefs.Errorf(err, "listing the disks")
		}
		asking("VolumeNames")
		if _, err := o.kernel.VolumeNames(); err != nil {
			return struct{}{}, errdefs.Errorf(err, "listing the volumes")
		}
		return struct{}{}, nil
	})
	return err
}
