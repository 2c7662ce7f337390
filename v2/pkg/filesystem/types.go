// SPDX-License-Identifier: Apache-2.0

package filesystem

// Requests and responses are named after their calls. A path is a Windows path on a drive; without one, \dir, it
// is on drive C.
type (
	// PathExistsRequest names the path.
	PathExistsRequest struct {
		Path string
	}

	// PathExistsResponse reports whether there is anything.
	PathExistsResponse struct {
		Exists bool
	}

	// PathValidRequest names the path, which may be on the network.
	PathValidRequest struct {
		Path string
	}

	// PathValidResponse reports whether it can be reached.
	PathValidResponse struct {
		Valid bool
	}

	// MkdirRequest names the directory to make.
	MkdirRequest struct {
		Path string
	}

	// MkdirResponse has no fields.
	MkdirResponse struct{}

	// RmdirRequest names the directory or link to remove.
	RmdirRequest struct {
		Path string
		// Force removes a directory with its content.
		Force bool
	}

	// RmdirResponse has no fields.
	RmdirResponse struct{}

	// RmdirContentsRequest names the directory to empty.
	RmdirContentsRequest struct {
		Path string
	}

	// RmdirContentsResponse has no fields.
	RmdirContentsResponse struct{}

	// CreateSymlinkRequest names the link and where it leads.
	CreateSymlinkRequest struct {
		// SourcePath is the existing directory that the link leads to.
		SourcePath string
		// TargetPath is where the link is made.
		TargetPath string
	}

	// CreateSymlinkResponse has no fields.
	CreateSymlinkResponse struct{}

	// IsSymlinkRequest names the path.
	IsSymlinkRequest struct {
		Path string
	}

	// IsSymlinkResponse reports whether a link or mount point is there, and leads somewhere.
	IsSymlinkResponse struct {
		IsSymlink bool
	}
)
