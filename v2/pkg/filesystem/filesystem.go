// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
)

// within returns the machine for a call on paths; a HostAPI of ours takes the call's context and checks the paths
// itself.
func (f *Filesystem) within(ctx context.Context, method string, paths ...string) (filesystemapi.HostAPI, error) {
	if own, ok := f.hostAPI.(filesystemapi.FilesystemAPI); ok {
		return own.WithContext(ctx), nil
	}
	for _, path := range paths {
		if method == "IsSymlink" {
			path = strings.ReplaceAll(path, "/", `\`) // as the node takes it
		}
		if err := ValidatePathWindows(path); err != nil {
			return nil, machine.Invalid("filesystem", method, "INVALID_PATH", err.Error())
		}
	}
	return f.hostAPI, nil
}

// ValidatePathWindows returns nil for a path that the calls accept: an absolute path, C:\dir or \dir, which is on drive
// C, of at most 260 UTF-16 units, without .., reserved names and characters, short names, streams, and the prefixes
// \\?\ and \\.\. Whether it is in a working directory depends on the node; the call itself checks that.
func ValidatePathWindows(path string) error {
	_, err := winpath.Parse(path, winpath.Options{})
	return err
}

// PathValidRequest names the path, which may be on the network.
type PathValidRequest struct {
	Path string
}

// PathValidResponse reports whether it can be reached.
type PathValidResponse struct {
	Valid bool
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
