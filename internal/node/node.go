// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/running"
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
	// returns is released when the operation is over, which may be long after the call. Either may be nil.
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

	kernel         kernel.Kernel
	around         kernel.Interceptor
	observer       Observer
	hold           func(context.Context) Held
	dirs           winpath.WorkingDirs
	requirePrivacy bool

	locks keyedLocks
	busy  sync.WaitGroup // the goroutines of operations

	mu      sync.Mutex
	flights map[string]*flight // changes under way that may be joined, by key

	tasks          running.Set[task]
	abandonedReads atomic.Int64 // how many of the tasks are reads that nobody waits for

	seal   seal // of credentials that tell calls apart
	system systemVolumeCache
	hints  volumeHints
	logins logins
}

// New returns the Node that works through k.
func New(k kernel.Kernel, c Config) (*Node, error) {
	dirs, err := winpath.NewWorkingDirs(c.WorkingDirs)
	if err != nil {
		return nil, invalidPath(err)
	}
	n := &Node{
		kernel: k, around: c.Interceptor, observer: c.Observer, hold: c.Hold,
		dirs: dirs, requirePrivacy: c.RequirePrivacy,
		flights: map[string]*flight{}, seal: newSeal(),
	}
	n.Disks, n.Volumes, n.Filesystem = &Disks{n}, &Volumes{n}, &Filesystem{n}
	n.SMB, n.ISCSI, n.System = &SMB{n}, &ISCSI{n}, &System{n}
	return n, nil
}

// Drain waits until nothing is running any more, including what callers have given up waiting for, or until the
// context ends.
func (n *Node) Drain(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { n.busy.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return abandoned(ctx, "waiting for running operations")
	}
}
