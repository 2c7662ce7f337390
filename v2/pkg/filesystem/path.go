// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// ValidatePathWindows returns nil for a path that the calls accept: an absolute path, C:\dir or \dir, which is on drive
// C, of at most 260 UTF-16 units, without .., reserved names and characters, short names, streams, and the prefixes
// \\?\ and \\.\. Whether it is in a working directory depends on the node; the call itself checks that.
func ValidatePathWindows(path string) error {
	_, err := winpath.Parse(path, winpath.Options{})
	return err
}

// invalidPath returns the node's error for an invalid path.
func invalidPath(method string, err error) error {
	return &csiproxy.Error{Group: "filesystem", Method: method, Code: codes.InvalidArgument,
		Reason: "INVALID_PATH", Message: err.Error()}
}
