// SPDX-License-Identifier: Apache-2.0

// Package mounter mounts volumes of a Windows node through a CSI Proxy agent. It is the node side of a CSI driver.
//
// A [Mounter] is a mount.Interface of k8s.io/mount-utils, so that it can replace mount.New("") in a driver. It also has
// what every driver for Windows otherwise writes for itself, from package staging of the client: StageDisk for the disk
// that a [Match] picks, ExpandTo, Usage and Condition, and [Shares] for SMB. All of it can be repeated after a failure
// or a crash anywhere. Methods that wait take a context; those of mount.Interface cannot, and are limited by the
// client's timeout.
//
// Failures are told apart with errors.Is: the kinds are the Err variables of this package and of package csiproxy,
// fs.ErrInvalid for an argument that makes no sense, and fs.ErrNotExist. An error of the agent is a *csiproxy.Error and
// has a gRPC code.
//
// The types with an equals sign are those of the packages staging and stepwise of the client, whose documentation has
// their fields and methods:
//
//	go doc -all github.com/kubernetes-csi/csi-proxy/client/stepwise StageOptions
//
// Paths have the forms that kubelet uses: with slashes or backslashes, with or without a drive.
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
