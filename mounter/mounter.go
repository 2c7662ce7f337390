// SPDX-License-Identifier: Apache-2.0

// Package mounter does the node side of a CSI driver for Windows, through this project's agent or in process.
//
// Each step of a node service is one call of the agent's group nodesteps: [Mounter.StageDisk] for the disk that a
// [Match] describes, [Mounter.StageShare], [Mounter.Publish], [Mounter.Expand], [Mounter.GetVolume]
// and [Mounter.Unstage]. The agent does the whole step, runs it to its end when the caller gives up, and finishes it
// when it is repeated after a failure or a crash anywhere. An agent without the group is csiproxy.ErrUnsupported.
// [Mounter.StageISCSI] and [Mounter.UnstageISCSI] log in to a target before such a step, and out after it.
//
// A [Mounter] is also a mount.Interface of k8s.io/mount-utils, so that it can replace mount.New("") in a driver. Those
// methods take no context, and are limited by the client's timeout. [Mounter.FormatAndMount] is a step as well; the
// others, and small questions such as [Mounter.PathExists], are calls that every agent serves.
//
// Failures are told apart with errors.Is: the kinds are the Err variables of package csiproxy, fs.ErrInvalid for an
// argument that makes no sense, and fs.ErrNotExist. An error of the agent is a *csiproxy.Error with a gRPC code.
// Package csicode gives a plugin's errors the codes after which kubelet does the right thing.
//
// Paths have the forms that kubelet uses: with slashes or backslashes, with or without a drive.
package mounter

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// A Mounter mounts through one agent. It keeps no state and is safe for concurrent use.
type Mounter struct {
	client  *csiproxy.Client
	kubelet kubelet
}

// New returns a mounter that calls an agent, or the node in this process, through a client. The caller closes the
// client.
func New(client *csiproxy.Client) *Mounter { return &Mounter{client: client} }

// WithKubelet returns a mounter that also looks into kubelet's directory, where GetMountRefs finds the other paths of a
// volume. The path is that of the directory on the node, and files the directory as this process sees it: a driver
// whose container has it mounted gives os.DirFS(`C:\var\lib\kubelet`), and a test on Linux
// os.DirFS(node.HostPath(`C:\var\lib\kubelet`)). Only names and links are read.
func (m *Mounter) WithKubelet(path string, files fs.FS) *Mounter {
	with := *m
	with.kubelet = kubelet{strings.TrimRight(windowsPath(path), `\`), files}
	return &with
}

// windowsPath returns a path in the form that every method of the API takes: with backslashes and a drive.
func windowsPath(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	if strings.HasPrefix(path, `\`) && !isRemote(path) {
		path = "C:" + path
	}
	return path
}

// isRemote reports whether a path is on a server.
func isRemote(path string) bool {
	return strings.HasPrefix(path, `\\`) || strings.HasPrefix(path, "//")
}

func isAny(err error, kinds ...error) bool {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
