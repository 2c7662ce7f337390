// SPDX-License-Identifier: Apache-2.0

// Package stepwise makes the steps of a CSI node service from single calls of a CSI Proxy agent. All of it can be
// repeated after a failure or a crash anywhere. Drivers get it from package staging, which prefers one call for a step;
// the agent uses it to serve that call.
//
// Paths have the forms that kubelet uses: with slashes or backslashes, with or without a drive.
package stepwise

import (
	"context"
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
)

// A Mounter mounts by the single calls of one agent. It keeps no state and is safe for concurrent use.
type Mounter struct {
	client  *calls.Client
	kubelet kubelet
	agent   Agent // the zero value for drivers
}

// New returns a mounter that calls an agent, or the node in this process, through a client. The caller closes the
// client.
func New(client *calls.Client) *Mounter { return &Mounter{client: client} }

// Publish makes target a link to the directory source, and makes the directories above target. It replaces an empty
// directory, a mount point or another link, and refuses a directory with content: csiproxy.ErrDirectoryNotEmpty.
func (m *Mounter) Publish(ctx context.Context, source, target string) error {
	request := &calls.CreateSymlinkRequest{SourcePath: WindowsPath(source), TargetPath: WindowsPath(target)}
	return m.replacing(ctx, request.TargetPath, false, func() error {
		_, err := m.client.Filesystem.CreateSymlink(ctx, request)
		return err
	})
}

// replacing makes a link at target. A link or an empty directory there is removed, and by force also a directory
// with content.
func (m *Mounter) replacing(ctx context.Context, target string, force bool, link func() error) error {
	if err := m.makeParent(ctx, target); err != nil {
		return err
	}
	err := link()
	if !errors.Is(err, calls.ErrPathExists) {
		return err
	}
	_, err = m.client.Filesystem.Rmdir(ctx, &calls.RmdirRequest{Path: target, Force: force})
	if err != nil && !errors.Is(err, calls.ErrPathNotFound) {
		return err
	}
	return link()
}

// PathExists reports whether there is anything at a path, without following it: a link or mount point exists even if it
// leads nowhere.
func (m *Mounter) PathExists(ctx context.Context, path string) (bool, error) {
	answer, err := m.client.Filesystem.PathExists(ctx, &calls.PathExistsRequest{Path: WindowsPath(path)})
	return answer.GetExists(), err
}

// Mkdir makes a directory and those above it. An existing one is success.
func (m *Mounter) Mkdir(ctx context.Context, path string) error {
	_, err := m.client.Filesystem.Mkdir(ctx, &calls.MkdirRequest{Path: WindowsPath(path)})
	return err
}

func (m *Mounter) makeParent(ctx context.Context, path string) error {
	parent := path[:max(strings.LastIndexByte(strings.TrimRight(path, `\`), '\\'), 0)]
	if parent == "" || strings.HasSuffix(parent, ":") {
		return nil
	}
	return m.Mkdir(ctx, parent)
}

// WindowsPath returns a path in the form that every method of the API takes: with backslashes and a drive.
func WindowsPath(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	if strings.HasPrefix(path, `\`) && !IsRemote(path) {
		path = "C:" + path
	}
	return path
}

// IsRemote reports whether a path is on a server.
func IsRemote(path string) bool {
	return strings.HasPrefix(path, `\\`) || strings.HasPrefix(path, "//")
}

// Credentials are the credentials for an SMB server.
type Credentials struct {
	User     string // user, DOMAIN\user or AZURE\account
	Password string
}

// String omits the password.
func (c Credentials) String() string { return c.User + " [redacted]" }

// GoString omits the password.
func (c Credentials) GoString() string { return c.String() }

// LinkShare maps the share of a remote path for the whole node and makes target a link to the remote path. A link or an
// empty directory at target is removed, and by force also a directory with content. A mapping that works is kept,
// whatever the credentials; one that its server refuses is replaced.
func (m *Mounter) LinkShare(ctx context.Context, remote, target string, credentials Credentials, force bool) error {
	target = WindowsPath(target)
	return m.replacing(ctx, target, force, func() error {
		_, err := m.client.SMB.NewSmbGlobalMapping(ctx, &calls.NewSmbGlobalMappingRequest{
			RemotePath: WindowsPath(remote), LocalPath: target, Username: credentials.User, Password: credentials.Password,
		})
		return err
	})
}

// UnmapShare removes the mapping of a share. All links into the share use the mapping, so call it with the last of
// them. A share that is not mapped is success. Unmount removes the links, before or after.
func (m *Mounter) UnmapShare(ctx context.Context, remote string) error {
	_, err := m.client.SMB.RemoveSmbGlobalMapping(ctx,
		&calls.RemoveSmbGlobalMappingRequest{RemotePath: WindowsPath(remote)})
	return err
}
