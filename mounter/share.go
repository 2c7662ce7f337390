// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
)

// Credentials are the credentials for an SMB server.
type Credentials struct {
	User     string // user, DOMAIN\user or AZURE\account
	Password string
}

// String omits the password.
func (c Credentials) String() string { return c.User + " [redacted]" }

// GoString omits the password.
func (c Credentials) GoString() string { return c.String() }

// StageShare maps the share of a remote path, \\server\share or \\server\share\dir, for the whole node, and makes
// target a link to the remote path. The node records target as a user of the share, so that Unstage removes the mapping
// with the last one. Another share that is staged at target is csiproxy.ErrPathExists, and a mounted volume
// csiproxy.ErrOtherVolumeMounted: Unstage it first. A directory with content is csiproxy.ErrDirectoryNotEmpty.
//
// A mapping that works is kept, whatever the credentials. One that the server refuses, as after a reboot of the node or
// with a new password, is made again with these, and the volumes that use it go on. Failures are
// csiproxy.ErrCredentials, ErrServerUnreachable, ErrShareNotFound, ErrOtherCredentials and others.
func (m *Mounter) StageShare(ctx context.Context, remote, target string, credentials Credentials) error {
	_, err := m.client.NodeSteps.StageShare(ctx, &api.StageShareRequest{RemotePath: windowsPath(remote),
		TargetPath: windowsPath(target), Username: credentials.User, Password: credentials.Password})
	return err
}

// EnsureShare is StageShare for a share that is staged, which a driver calls when it publishes: a mapping that is gone,
// or has become useless, is there again before a pod starts. Credentials that are not needed are not looked at.
func (m *Mounter) EnsureShare(ctx context.Context, remote, target string, credentials Credentials) error {
	return m.StageShare(ctx, remote, target, credentials)
}
