// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// Config says where and how a Node works.
type Config struct {
	// WorkingDirs are the Windows directories below which paths are accepted; at least one.
	WorkingDirs []string
	// Interceptor stands around every kernel call: metrics, a journal, faults. It may be nil.
	Interceptor kernel.Interceptor
	// RequirePrivacy asks for encryption on SMB global mappings; a server that cannot encrypt is refused.
	RequirePrivacy bool
}

// Node is the storage administration of one Windows node. Its methods are safe for concurrent use.
type Node struct {
	Disks      *Disks
	Volumes    *Volumes
	Filesystem *Filesystem
	SMB        *SMB
	ISCSI      *ISCSI
	System     *System

	calls *calls
}

// New returns the Node that works through k.
func New(k kernel.Kernel, c Config) (*Node, error) {
	dirs, err := winpath.NewWorkingDirs(c.WorkingDirs)
	if err != nil {
		return nil, invalidPath(err)
	}
	calls := newCalls(k, c.Interceptor)
	paths := &paths{dirs: dirs}
	return &Node{
		Disks:      &Disks{calls: calls},
		Volumes:    &Volumes{calls: calls, paths: paths},
		Filesystem: &Filesystem{calls: calls, paths: paths},
		ISCSI:      newISCSI(calls),
		SMB:        newSMB(calls, paths, c.RequirePrivacy),
		System:     &System{calls: calls},
		calls:      calls,
	}, nil
}

// Drain waits until nothing is running any more, including what callers have given up waiting for, or until the
// context ends.
func (n *Node) Drain(ctx context.Context) error { return n.calls.drain(ctx) }
