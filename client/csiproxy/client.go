// SPDX-License-Identifier: Apache-2.0

// Package csiproxy is the client that works with every CSI Proxy agent, whatever versions of the API it serves.
//
// A [Client] has one field for each API group, with the methods and messages of the group's newest version. The
// messages have names without a version here, such as [MountVolumeRequest], which stay when a newer version comes. On
// the first call of a group the Client connects to the newest version that the agent serves and, if that is an older
// one, translates. A call that an older version does not support is [ErrUnsupported], and the error names the version
// that does. All failures are [Error], whichever agent they come from:
//
//	client := csiproxy.New(csiproxy.Options{})
//	defer client.Close()
//	answer, err := client.Volume.GetVolumeIDFromTargetPath(ctx,
//		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
//	if errors.Is(err, csiproxy.ErrNotMounted) {
//		…
//	}
//
// The packages under client/groups are the other way to call an agent: one for each version, without translation. The
// node service of a CSI driver needs few of these calls: package mounter, a module of its own, makes one for each step.
package csiproxy

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

const (
	// defaultTimeout is a little longer than the agent's limit for its longest calls: the agent's own answer comes first.
	defaultTimeout = 2 * time.Minute
	// defaultRestart is longer than it takes to replace the agent's binary and start it.
	defaultRestart = 30 * time.Second
)

// Options adjusts New. The zero value works for the agent of this node.
type Options struct {
	// Timeout limits a call whose context has no deadline. Zero: two minutes.
	Timeout time.Duration
	// Restart is how long a call waits for an agent that is gone, within its deadline. Zero: 30 seconds; negative: not.
	Restart time.Duration
	// SocketDir is the directory of the agent's sockets off Windows. Empty: the one in $CSI_PROXY_SOCKET_DIR.
	SocketDir string
	// PipePath returns the pipe of a group's version, for agents under other names. Nil: client.PipePath.
	PipePath func(group string, version apiversion.Version) string
	// Dial is appended to the options of every gRPC connection, for interceptors.
	Dial []grpc.DialOption
}

// New returns a client of this node's agent, connected by Connect or the first call of a group. Close disconnects it.
func New(options Options) *Client {
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.Restart == 0 {
		options.Restart = defaultRestart
	}
	if options.PipePath == nil {
		options.PipePath = client.PipePath
	}
	groups := map[string]*group{}
	for _, table := range versions.Groups() {
		groups[table.Name] = newGroup(table, options, groups)
	}
	return (&Client{groups: groups}).over(func(name string) grpc.ClientConnInterface { return groups[name] })
}

// open opens the endpoint of one version.
func (o Options) open(ctx context.Context, group, version string) (*grpc.ClientConn, error) {
	v, err := apiversion.NewVersion(version)
	if err != nil {
		return nil, err
	}
	return dial.Open(ctx, o.PipePath(group, v), dial.Options{SocketDir: o.SocketDir, Dial: o.Dial})
}
