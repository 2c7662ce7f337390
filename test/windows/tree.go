// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
)

// emptyTree removes what is in a directory, as the agent does it: each directory is opened in the one before, and a
// link is removed and not followed. The caller knows the parent to be what it was.
func emptyTree(ctx context.Context, k kernel.Kernel, parent, dir string) error {
	n, err := node.New(k, node.Config{WorkingDirs: []string{parent}})
	if err != nil {
		return err
	}
	n = n.For(operation.Everything())
	return n.Filesystem.RmdirContents(ctx, dir)
}
