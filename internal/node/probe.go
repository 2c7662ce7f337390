// SPDX-License-Identifier: Apache-2.0

package node

import "context"

// Probe asks Windows two cheap questions, one of Plug and Play and one of the mount manager, without which no operation
// on disks or volumes works: for health checks. Before each, asking is told the kernel function, so that whoever is kept
// waiting knows what for. It changes nothing.
func (n *Node) Probe(ctx context.Context, asking func(function string)) error {
	_, err := read(ctx, n, on("Probe"), func(o *op) (struct{}, error) {
		asking("DiskInterfaces")
		if _, err := o.k.DiskInterfaces(); err != nil {
			return struct{}{}, fail(err, "listing the disks")
		}
		asking("VolumeNames")
		if _, err := o.k.VolumeNames(); err != nil {
			return struct{}{}, fail(err, "listing the volumes")
		}
		return struct{}{}, nil
	})
	return err
}
