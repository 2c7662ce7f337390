// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// ShareSpace asks the file system behind the directory on a share, to which the link at a path leads, for its sizes.
func (fs *FS) ShareSpace(target winpath.Target, at winpath.Path) (win32.FileFsFullSize, error) {
	loc := &Location{Path: at, fs: fs}
	defer loc.Close()
	if err := fs.enterShare(loc, at.Base(), target, Walk{}); err != nil {
		return win32.FileFsFullSize{}, err
	}
	var buffer [win32.SizeofFileFsFullSize]byte
	if err := loc.dir.FsInformation(win32.FileFsFullSizeInformation, buffer[:]); err != nil {
		return win32.FileFsFullSize{}, errdefs.Errorf(err, "asking for the size of the share to which %s leads", at)
	}
	return win32.ParseFileFsFullSize(buffer[:])
}
