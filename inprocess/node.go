// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// Options adjusts Open. The zero value works as an agent without flags does.
type Options struct {
	// WorkingDirs are Windows directories, besides kubelet's, below which operations are allowed.
	WorkingDirs []string
	// KubeletDir is kubelet's directory; empty: C:\var\lib\kubelet.
	KubeletDir string
	// AllowPlainSMB lets SMB mappings go without encryption.
	AllowPlainSMB bool
	// Logger gets a line for each call that fails, and at level 2 for every call; the zero value: klog's own.
	Logger klog.Logger
}

// A Node is the machine that the process runs on.
type Node struct {
	node   *node.Node
	client *csiproxy.Client
}

// Open makes the machine's storage callable. The process has to run as SYSTEM or an administrator, on the host: a
// HostProcess container does. It fails off Windows; tests there take the client of a csiproxytest node.
func Open(o Options) (*Node, error) {
	k, err := machine()
	if err != nil {
		return nil, err
	}
	return open(k, o)
}

func open(k kernel.Kernel, o Options) (*Node, error) {
	if o.KubeletDir == "" {
		o.KubeletDir = node.KubeletDir
	}
	n, err := node.New(k, node.Config{
		WorkingDirs: append([]string{o.KubeletDir}, o.WorkingDirs...), RequirePrivacy: !o.AllowPlainSMB,
	})
	if err != nil {
		return nil, err
	}
	return &Node{node: n, client: csiproxy.Over(server.NewLocal(apis.All(n), server.Options{Logger: o.Logger}))}, nil
}

// Client is the client of the node. Its Close does nothing; Close of the Node waits for what its calls began.
func (n *Node) Client() *csiproxy.Client { return n.client }

// Close waits until nothing is running on the node any more, calls that their callers gave up included, or until the
// context ends. The process may end then without leaving half-done work.
func (n *Node) Close(ctx context.Context) error { return n.node.Drain(ctx) }
