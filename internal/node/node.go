// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// KubeletDir is kubelet's directory on a Windows node, unless kubelet is told otherwise.
const KubeletDir = `C:\var\lib\kubelet`

// Config says where and how a Node works.
type Config struct {
	// WorkingDirs are the Windows directories below which paths are accepted; at least one.
	WorkingDirs []string
	// Interceptor stands around every kernel call: metrics, a journal, faults. It may be nil.
	Interceptor kernel.Interceptor
	// RequirePrivacy asks for encryption on SMB global mappings; a server that cannot encrypt is refused.
	RequirePrivacy bool
	// Observer is told what becomes of operations. It may be nil.
	Observer Observer
	// Hold is called when an operation is about to begin on behalf of a call, with the call's context, and what it
	// returns when the operation is over, which may be long after the call. Either may be nil.
	Hold func(ctx context.Context) Held
}

// Held is something that a call keeps while what it began is going on.
type Held interface{ Release() }

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
	calls.observer, calls.hold = c.Observer, c.Hold
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
