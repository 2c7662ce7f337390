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

// HostAPI is the directories and links of a machine.
type HostAPI interface {
	// PathExists reports whether there is anything at a path; a link counts wherever it leads.
	PathExists(path string) (bool, error)
	// PathValid reports whether a path, or a share on the network, can be reached.
	PathValid(path string) (bool, error)
	// Mkdir makes a directory and its parents.
	Mkdir(path string) error
	// Rmdir removes a directory or link; by force also a directory's content, and it may be missing.
	Rmdir(path string, force bool) error
	// RmdirContents removes what is in a directory.
	RmdirContents(path string) error
	// CreateSymlink makes newname a directory link to oldname.
	CreateSymlink(oldname string, newname string) error
	// IsSymlink reports whether there is a link or mounted volume at a path and what it leads to is there.
	IsSymlink(path string) (bool, error)
}

// FilesystemAPI is the HostAPI of this project: each call has the path policy, checks, locks and errors of the node. The
// zero value is that of New.
type FilesystemAPI struct {
	at machine.Place
}

// New is the machine that the process runs on, which has to be a Windows node. All calls fail off Windows.
func New() HostAPI { return FilesystemAPI{} }

// Over is the node of a client: an emulated one, one that inprocess.Open opened with options, or the agent's.
func Over(client *csiproxy.Client) FilesystemAPI { return FilesystemAPI{machine.At(client)} }

// WithContext is the same machine for calls that end with a context.
func (f FilesystemAPI) WithContext(ctx context.Context) FilesystemAPI {
	return FilesystemAPI{f.at.Within(ctx)}
}

// call makes a call of the API's filesystem group.
func call[Q, R any](f FilesystemAPI, method func(filesystemv2alpha1.FilesystemClient, context.Context, *Q, ...grpc.CallOption) (*R, error), request *Q) (*R, error) {
	ctx, client, err := f.at.Client()
	if err != nil {
		return nil, err
	}
	return method(client.Filesystem, ctx, request)
}

// PathExists reports whether there is anything at a path; a link counts wherever it leads.
func (f FilesystemAPI) PathExists(path string) (bool, error) {
	r, err := call(f, filesystemv2alpha1.FilesystemClient.PathExists, &filesystemv2alpha1.PathExistsRequest{Path: path})
	return r.GetExists(), err
}

// PathValid is PathExists for a path on a drive. A path on the network, \\server\share\dir, is valid when its share is
// mapped and answers; that its server does not answer is an error, and what is in the share is not looked at.
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

// Mkdir makes a directory and its parents. One that exists is success.
func (f FilesystemAPI) Mkdir(path string) error {
	_, err := call(f, filesystemv2alpha1.FilesystemClient.Mkdir, &filesystemv2alpha1.MkdirRequest{Path: path})
	return err
}

// Rmdir removes an empty directory or a link. By force a directory goes with its content, which does not include what
// links and mount points in it lead to, and one that is missing is success.
func (f FilesystemAPI) Rmdir(path string, force bool) error {
	_, err := call(f, filesystemv2alpha1.FilesystemClient.Rmdir, &filesystemv2alpha1.RmdirRequest{Path: path, Force: force})
	return err
}

// RmdirContents removes what is in a directory, which stays. Links and mount points in it are not followed.
func (f FilesystemAPI) RmdirContents(path string) error {
	_, err := call(f, filesystemv2alpha1.FilesystemClient.RmdirContents, &filesystemv2alpha1.RmdirContentsRequest{Path: path})
	return err
}

// CreateSymlink makes newname a directory link to oldname. The same link there already is success.
func (f FilesystemAPI) CreateSymlink(oldname string, newname string) error {
	_, err := call(f, filesystemv2alpha1.FilesystemClient.CreateSymlink, &filesystemv2alpha1.CreateSymlinkRequest{SourcePath: oldname, TargetPath: newname})
	return err
}

// IsSymlink reports whether there is a link or mounted volume at a path and what it leads to is there. A missing path is an
// error.
func (f FilesystemAPI) IsSymlink(path string) (bool, error) {
	r, err := call(f, filesystemv2alpha1.FilesystemClient.IsSymlink, &filesystemv2alpha1.IsSymlinkRequest{Path: path})
	return r.GetIsSymlink(), err
}
