// SPDX-License-Identifier: Apache-2.0

// Package node implements what each operation of CSI Proxy means: validation, path policy, order, idempotency, locking
// and the completion of half-done work, written once and portably on top of package kernel. The agent serves it over
// gRPC; package inprocess gives it to a driver in a HostProcess container. What a method promises stands in its proto.
package node

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/services"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// KubeletDir is kubelet's default directory on a Windows node.
const KubeletDir = `C:\var\lib\kubelet`

// Config is the configuration of a Node.
type Config struct {
	// WorkingDirs are the Windows directories below which paths are accepted; at least one is needed.
	WorkingDirs []string
	// Kept are directories that several clients use: no client may take the place of one, or of a directory above.
	Kept []winpath.Path
	// Interceptor stands around every kernel call: metrics, a journal, faults. It may be nil.
	Interceptor kernel.Interceptor
	// Resolve returns the addresses of a host for the network "ip", as net.Resolver.LookupNetIP does; nil: shares of any
	// name are mapped, whatever its address.
	Resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)
	// RequirePrivacy demands encryption for SMB global mappings; a server that cannot encrypt is refused.
	RequirePrivacy bool
	// EraseOnFormat lets FormatVolume erase the files of an NTFS volume; otherwise it refuses such a volume.
	EraseOnFormat bool
	// ProtectedServices are those that StopService does not stop, as services.Protected reads them; none: default.
	ProtectedServices []string
	// OwnService names the agent's service, which StopService asks for and does not stop; nil or "": csiproxy.
	OwnService func() string
	// Records is the directory of the steps' records, such as the targets of a share; empty: no share can be staged.
	Records string
	// Idle gives up what Lease would keep for the call of a context, while the call only waits for hardware. It may refuse
	// that. The wait's context ends at the latest with the call's; a cause of errdefs is the call's error. Resume waits
	// until the call may go on. Idle may be nil.
	Idle func(ctx context.Context) (wait context.Context, resume func() error, err error)
	// Observer is told the progress of operations. It may be nil.
	Observer operation.Observer
	// Lease is taken for each operation: see operation.Config.
	Lease func(ctx context.Context) (release func())
}

// Node is one Windows node's storage, as one client of it may use it: see For. Its methods are safe for concurrent use.
type Node struct {
	Disks      *Disks
	Volumes    *Volumes
	Filesystem *Filesystem
	SMB        *SMB
	ISCSI      *ISCSI
	System     *System
	Steps      *Steps

	*core
	scope operation.Scope
}

// core is what a node has for all its clients.
type core struct {
	kernel  kernel.Kernel
	config  Config
	methods map[string]Method // of all groups, by name

	protectedServices []string     // which no caller may stop
	records           *records.Dir // nil: none
	operations        *operation.Runner
	policy            *winfs.Policy
	maps              operation.KeyedLocks // by server: one share of it is mapped at a time
	unmaps            operation.KeyedLocks // by server: one mapping of it is removed at a time
	missing           []*api.Privilege     // set by EnablePrivileges

	mapped   sync.Map // share → the sealed credentials with which this agent mapped it, which Windows does not tell
	asked    sync.Map // the shares that the smb group asked for, where that could not be recorded
	taken    sync.Map // disk number → []diskVolume, what was on the disks that this agent took offline
	arrivals sync.Map // targetName → until when the disks of a recent iSCSI login may still arrive
}

// New returns a Node that works through k, for a client that may do nothing: see For.
func New(k kernel.Kernel, c Config) (*Node, error) {
	known := methods()
	if known.err != nil {
		return nil, known.err
	}
	policy, err := winfs.NewPolicy(c.WorkingDirs, c.Kept)
	if err != nil {
		return nil, err
	}
	protected, err := services.Protected(c.ProtectedServices)
	if err != nil {
		return nil, fmt.Errorf("the services that no caller may stop: %w", err)
	}
	if c.Idle == nil {
		c.Idle = func(ctx context.Context) (context.Context, func() error, error) {
			return ctx, func() error { return nil }, nil
		}
	}
	n := &core{
		kernel: k, config: c, methods: known.byName, policy: policy, protectedServices: protected,
		maps: operation.KeyedLocks{Size: callsOfServer}, unmaps: operation.KeyedLocks{Size: callsOfServer},
		operations: operation.NewRunner(operation.Config{
			Kernel: k, Interceptor: c.Interceptor, Observer: c.Observer, Lease: c.Lease,
		}),
	}
	if c.Records != "" {
		n.records = records.New(c.Records)
	}
	return (&Node{core: n}).For(operation.Scope{}), nil
}

// For returns the node for a client that may reach what is in a scope.
func (n *Node) For(s operation.Scope) *Node {
	c := &Node{core: n.core, scope: s}
	c.Disks, c.Volumes, c.Filesystem = &Disks{c}, &Volumes{c}, &Filesystem{c}
	c.SMB, c.ISCSI, c.System, c.Steps = &SMB{c}, &ISCSI{c}, &System{c}, &Steps{c}
	return c
}

// Drain waits until no operation is running, including those whose callers have given up, or until the context ends.
func (n *Node) Drain(ctx context.Context) error { return n.operations.Drain(ctx) }

// Running lists the operations that have not ended, the oldest first.
func (n *Node) Running() []*api.Operation {
	return n.operations.Running(func(verb string) bool { _, is := n.methods[verb]; return is })
}
