// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"

	filesystemv2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
)

// HostAPI gives access to the directories and links of a machine.
type HostAPI interface {
	// PathExists reports whether anything is at a path; a link counts, wherever it leads.
	PathExists(path string) (bool, error)
	// PathValid reports whether a path, or a share on the network, can be reached.
	PathValid(path string) (bool, error)
	// Mkdir makes a directory and its parents.
	Mkdir(path string) error
	// Rmdir removes a directory or link. With force, it also removes the content, and the path may be missing.
	Rmdir(path string, force bool) error
	// RmdirContents removes the content of a directory.
	RmdirContents(path string) error
	// CreateSymlink makes newname a directory link to oldname.
	CreateSymlink(oldname string, newname string) error
	// IsSymlink reports whether a path is a link or mount point whose target exists.
	IsSymlink(path string) (bool, error)
}

// FilesystemAPI is the HostAPI of this project: each call has the path policy, checks, locks and errors of the node.
// The zero value is that of New.
type FilesystemAPI struct {
	at machine.Place
}

// New returns the machine that the process runs on, which must be a Windows node; off Windows, all calls fail. With
// CSI_PROXY_HOSTAPI=agent in the environment it returns the node of the agent whose pipes the process sees.
func New() HostAPI { return FilesystemAPI{} }

// Over returns the node of a client: an emulated node, one that inprocess.Open opened with options, or the agent's.
func Over(client *csiproxy.Client) FilesystemAPI { return FilesystemAPI{machine.At(client)} }

// WithContext returns the same machine for calls that end with a context.
func (f FilesystemAPI) WithContext(ctx context.Context) FilesystemAPI {
	return FilesystemAPI{f.at.Within(ctx)}
}

// call makes a call to the API's filesystem group.
func call[Q, R any](f FilesystemAPI, method func(filesystemv2alpha1.FilesystemClient, context.Context, *Q,
	...grpc.CallOption) (*R, error), request *Q) (*R, error) {
	ctx, client, err := f.at.Client()
	if err != nil {
		return nil, err
	}
	return method(client.Filesystem, ctx, request)
}

// PathExists reports whether anything is at a path; a link counts, wherever it leads.
func (f FilesystemAPI) PathExists(path string) (bool, error) {
	r, err := call(f, filesystemv2alpha1.FilesystemClient.PathExists, &filesystemv2alpha1.PathExistsRequest{Path: path})
	return r.GetExists(), err
}

// PathValid is PathExists for a path on a drive. A path on the network, \\server\share\dir, is valid if its share is
// mapped and answers. It is an error if the server does not answer. The content of the share is not examined.
func (f FilesystemAPI) PathValid(path string) (bool, error) {
	if !strings.HasPrefix(path, `\\`) && !strings.HasPrefix(path, `//`) {
		return f.PathExists(path)
	}
	ctx, client, err := f.at.Client()
	if err != nil {
		return false, err
	}
	// Without credentials nothing is mapped: the call finds the share mapped and answering, or asks for them.
	_, err = client.SMB.NewSmbGlobalMapping(ctx, &smbv1.NewSmbGlobalMappingRequest{RemotePath: path})
	if errors.Is(err, csiproxy.ErrCredentials) {
		return false, nil
	}
	return err == nil, err
}

// Mkdir makes a directory and its parents. An existing directory is success.
func (f FilesystemAPI) Mkdir(path string) error {
	_, err := call(f, filesystemv2alpha1.FilesystemClient.Mkdir, &filesystemv2alpha1.MkdirRequest{Path: path})
	return err
}

// Rmdir removes an empty directory or a link. With force, it removes a directory with its content, but not the targets
// of links and mount points in it, and a missing path is success.
func (f FilesystemAPI) Rmdir(path string, force bool) error {
	_, err := call(f, filesystemv2alpha1.FilesystemClient.Rmdir,
		&filesystemv2alpha1.RmdirRequest{Path: path, Force: force})
	return err
}

// RmdirContents removes the content of a directory, which stays. Links and mount points in it are not followed.
func (f FilesystemAPI) RmdirContents(path string) error {
	_, err := call(f, filesystemv2alpha1.FilesystemClient.RmdirContents,
		&filesystemv2alpha1.RmdirContentsRequest{Path: path})
	return err
}

// CreateSymlink makes newname a directory link to oldname. If the same link exists, that is success.
func (f FilesystemAPI) CreateSymlink(oldname string, newname string) error {
	_, err := call(f, filesystemv2alpha1.FilesystemClient.CreateSymlink,
		&filesystemv2alpha1.CreateSymlinkRequest{SourcePath: oldname, TargetPath: newname})
	return err
}

// IsSymlink reports whether a path is a link or mount point whose target exists. A missing path is an
// error.
func (f FilesystemAPI) IsSymlink(path string) (bool, error) {
	r, err := call(f, filesystemv2alpha1.FilesystemClient.IsSymlink, &filesystemv2alpha1.IsSymlinkRequest{Path: path})
	return r.GetIsSymlink(), err
}
