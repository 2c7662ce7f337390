// SPDX-License-Identifier: Apache-2.0

// Package inprocess is the library mode: a CSI driver that runs as a HostProcess container does the agent's work in its
// own process. It uses the same client, so that one line decides between the two:
//
//	var client *csiproxy.Client
//	if hostProcess {
//		node, err := inprocess.Open(inprocess.Options{})
//		…
//		client = node.Client()
//	} else {
//		client = csiproxy.New(csiproxy.Options{})
//	}
//
// Calls have the same meaning, path policy, time limits, locks, audit lines and errors as through the agent, but use no
// pipe and encode no messages. Drivers and agents that work on one node in different processes have the records of
// shares in common, and no other locks: Windows separates their work as it does for any two programs.
package inprocess

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/local"
)

// Options adjusts Open. The zero value works as an agent without flags does.
type Options struct {
	// WorkingDirs are Windows directories, besides kubelet's, below which operations are allowed.
	WorkingDirs []string
	// KubeletDir is kubelet's directory; empty: C:\var\lib\kubelet.
	KubeletDir string
	// AllowPlainSMB allows SMB mappings without encryption.
	AllowPlainSMB bool
	// EraseOnFormat lets FormatVolume erase the files of an NTFS volume, for provisioners of local volumes.
	EraseOnFormat bool
	// ProtectedServices are the services that StopService refuses to stop, as items of the agent's flag
	// -protected-services; none: those that a Kubernetes node needs, such as kubelet. An item none protects none.
	ProtectedServices []string
	// Logger gets a line for each call that fails, and at level 2 for every call; the zero value: klog's own.
	Logger klog.Logger
}

func (o Options) logger() klog.Logger {
	if o.Logger.GetSink() == nil {
		return klog.Background()
	}
	return o.Logger
}

// A Node is the machine that the process runs on.
type Node struct {
	node     *node.Node
	client   *csiproxy.Client
	readOnly grpc.ClientConnInterface // of readOnlyEndpoint
}

// Open opens the machine's storage for calls. The process must run on the host as SYSTEM or an administrator, as a
// HostProcess container does. Open fails off Windows; use the client of a csiproxytest node in tests there.
func Open(o Options) (*Node, error) {
	recorded, unsafe := records.MachineDir()
	opened, err := open(windows.New(), recorded, o)
	switch {
	case err != nil:
		return nil, err
	case unsafe != nil:
		o.logger().Error(unsafe, "StageShare is refused until the driver is started again")
	default:
		go opened.cleanShares(o.logger())
	}
	return opened, nil
}

// cleanShares leaves the shares that a death of the driver left behind, as the agent does when it starts.
func (n *Node) cleanShares(logger klog.Logger) {
	err := n.node.For(operation.Everything()).Steps.CleanShares(klog.NewContext(context.Background(), logger))
	if err != nil {
		logger.Info("shares whose links are gone may stay mapped until the next start", "err", err)
	}
}

func open(k kernel.Kernel, recordsDir string, o Options) (*Node, error) {
	if k == nil {
		return nil, errors.New("this is not a Windows node: in tests, use the client of a csiproxytest node, which is " +
			"emulated")
	}
	if o.KubeletDir == "" {
		o.KubeletDir = node.KubeletDir
	}
	n, err := node.New(k, node.Config{
		WorkingDirs: append([]string{o.KubeletDir}, o.WorkingDirs...), RequirePrivacy: !o.AllowPlainSMB,
		EraseOnFormat: o.EraseOnFormat, ProtectedServices: o.ProtectedServices, Records: recordsDir,
	})
	if err != nil {
		return nil, err
	}
	o.Logger = o.logger()
	n.EnablePrivileges(klog.NewContext(context.Background(), o.Logger))
	local := local.New(append(apis.All(n), readOnlyEndpoint(n.For(operation.Everything()).Disks)),
		server.Options{Logger: o.Logger})
	opened := &Node{node: n, readOnly: csiproxy.Typed(local, "disk")}
	opened.client = csiproxy.Over(connection{local, opened})
	return opened, nil
}

// A connection is that of a node's client.
type connection struct {
	*local.Connection
	node *Node
}

// Of returns the node whose Client a client is; nil if it is that of an agent or of another connection.
func Of(client *csiproxy.Client) *Node {
	c, _ := client.Connection().(connection)
	return c.node
}

// Client returns the client of the node. Its Close does nothing; Close of the Node waits for its operations.
func (n *Node) Client() *csiproxy.Client { return n.client }

// Close waits until no operation is running on the node, including those whose callers have given up, or until the
// context ends. After that, the process can end without leaving half-done work.
func (n *Node) Close(ctx context.Context) error { return n.node.Drain(ctx) }
