// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"errors"
	"strings"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
)

// Filesystem gives access to the directories and links of a machine.
type Filesystem struct {
	hostAPI filesystemapi.HostAPI
}

// Interface has the methods of Filesystem.
type Interface interface {
	// CreateSymlink makes TargetPath a directory link to SourcePath. If the same link exists, that is success.
	CreateSymlink(context.Context, *CreateSymlinkRequest) (*CreateSymlinkResponse, error)
	// IsSymlink reports whether a path is a link or mount point whose target exists.
	IsSymlink(context.Context, *IsSymlinkRequest) (*IsSymlinkResponse, error)
	// Mkdir makes a directory and its parents. An existing directory is success.
	Mkdir(context.Context, *MkdirRequest) (*MkdirResponse, error)
	// PathExists reports whether anything is at a path; a link counts, wherever it leads.
	PathExists(context.Context, *PathExistsRequest) (*PathExistsResponse, error)
	// PathValid reports whether a path, or a share on the network, can be reached.
	PathValid(context.Context, *PathValidRequest) (*PathValidResponse, error)
	// Rmdir removes a directory or link. With force, it also removes the content, and the path may be missing.
	Rmdir(context.Context, *RmdirRequest) (*RmdirResponse, error)
	// RmdirContents removes the content of a directory, which stays.
	RmdirContents(context.Context, *RmdirContentsRequest) (*RmdirContentsResponse, error)
}

var _ Interface = (*Filesystem)(nil)

// New returns the directories and links of a machine.
func New(hostAPI filesystemapi.HostAPI) (*Filesystem, error) {
	if hostAPI == nil {
		return nil, errors.New("filesystem.New needs a HostAPI")
	}
	return &Filesystem{hostAPI: hostAPI}, nil
}

// within returns the machine for a call on paths; a HostAPI of ours takes the call's context and checks the paths
// itself.
func (f *Filesystem) within(ctx context.Context, method string, paths ...string) (filesystemapi.HostAPI, error) {
	if own, ok := f.hostAPI.(filesystemapi.FilesystemAPI); ok {
		return own.WithContext(ctx), nil
	}
	for _, path := range paths {
		if err := ValidatePathWindows(path); err != nil {
			return nil, invalidPath(method, err)
		}
	}
	return f.hostAPI, nil
}

// PathExists reports whether anything is at a path; a link counts, wherever it leads.
func (f *Filesystem) PathExists(ctx context.Context, request *PathExistsRequest) (*PathExistsResponse, error) {
	host, err := f.within(ctx, "PathExists", request.Path)
	if err != nil {
		return &PathExistsResponse{}, err
	}
	exists, err := host.PathExists(request.Path)
	return &PathExistsResponse{Exists: exists}, err
}

// PathValid reports whether a path, or a share on the network, can be reached: see the HostAPI's PathValid.
func (f *Filesystem) PathValid(ctx context.Context, request *PathValidRequest) (*PathValidResponse, error) {
	host, err := f.within(ctx, "PathValid") // which also takes paths on the network
	if err != nil {
		return &PathValidResponse{}, err
	}
	valid, err := host.PathValid(request.Path)
	return &PathValidResponse{Valid: valid}, err
}

// Mkdir makes a directory and its parents. An existing directory is success.
func (f *Filesystem) Mkdir(ctx context.Context, request *MkdirRequest) (*MkdirResponse, error) {
	host, err := f.within(ctx, "Mkdir", request.Path)
	if err == nil {
		err = host.Mkdir(request.Path)
	}
	return &MkdirResponse{}, err
}

// Rmdir removes an empty directory or a link. With force, it removes a directory with its content, but not the targets
// of links and mount points in it, and a missing path is success.
func (f *Filesystem) Rmdir(ctx context.Context, request *RmdirRequest) (*RmdirResponse, error) {
	host, err := f.within(ctx, "Rmdir", request.Path)
	if err == nil {
		err = host.Rmdir(request.Path, request.Force)
	}
	return &RmdirResponse{}, err
}

// RmdirContents removes the content of a directory, which stays. Links and mount points in it are not followed.
func (f *Filesystem) RmdirContents(ctx context.Context, request *RmdirContentsRequest) (*RmdirContentsResponse, error) {
	host, err := f.within(ctx, "RmdirContents", request.Path)
	if err == nil {
		err = host.RmdirContents(request.Path)
	}
	return &RmdirContentsResponse{}, err
}

// CreateSymlink makes TargetPath a directory link to SourcePath. If the same link exists, that is success.
func (f *Filesystem) CreateSymlink(ctx context.Context, request *CreateSymlinkRequest) (*CreateSymlinkResponse, error) {
	host, err := f.within(ctx, "CreateSymlink", request.SourcePath, request.TargetPath)
	if err == nil {
		err = host.CreateSymlink(request.SourcePath, request.TargetPath)
	}
	return &CreateSymlinkResponse{}, err
}

// IsSymlink reports whether a path is a link or mount point whose target exists. A missing path is an
// error.
func (f *Filesystem) IsSymlink(ctx context.Context, request *IsSymlinkRequest) (*IsSymlinkResponse, error) {
	host, err := f.within(ctx, "IsSymlink", strings.ReplaceAll(request.Path, "/", `\`)) // as the node takes it
	if err != nil {
		return &IsSymlinkResponse{}, err
	}
	is, err := host.IsSymlink(request.Path)
	return &IsSymlinkResponse{IsSymlink: is}, err
}
