// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"io/fs"

	mount "k8s.io/mount-utils"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/staging"
)

// A Mounter mounts through one agent. It keeps no state and is safe for concurrent use. Most of its methods are those
// of [staging.Mounter]: StageDisk, UnstageDisk, Publish, Unmount, ExpandTo, Usage, Condition and more, which
//
//	go doc -all github.com/kubernetes-csi/csi-proxy/client/staging Mounter
//
// prints; those that are single calls anyway are methods of stepwise.Mounter, which it embeds.
type Mounter struct{ *staging.Mounter }

var _ mount.Interface = (*Mounter)(nil)

// New returns a mounter that calls an agent, or the node in this process, through a client. The caller closes the
// client.
func New(client *csiproxy.Client) *Mounter { return &Mounter{staging.New(client)} }

// WithKubelet returns a mounter that also looks into kubelet's directory, for what the API does not list: GetMountRefs
// finds the other paths of a volume, and Shares counts the links of drivers that do not record theirs. The path is that
// of the directory on the node, and files the directory as this process sees it: a driver whose container has it
// mounted gives os.DirFS(`C:\var\lib\kubelet`), and a test on Linux os.DirFS(node.HostPath(`C:\var\lib\kubelet`)).
//
// Only names and links are read. Links to shares are found if files is an fs.ReadLinkFS, as os.DirFS is.
func (m *Mounter) WithKubelet(path string, files fs.FS) *Mounter {
	return &Mounter{m.Mounter.WithKubelet(path, files)}
}

// List returns nothing: the API does not list the mount points of a node.
func (m *Mounter) List() ([]mount.MountPoint, error) { return []mount.MountPoint{}, nil }
