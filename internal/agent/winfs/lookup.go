// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Exists reports whether anything is at a path; a link or mount point counts, wherever it leads.
func (fs *FS) Exists(path winpath.Path) (bool, error) {
	links := MaxLinks
	loc, _, err := fs.lookUp(path, &links)
	if errdefs.IsMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	loc.Close()
	return true, nil
}

// lookUp opens what is at a path, only to look at it; the location closes the handle. Without links on the way one
// opening below the working directory does; everything else is walked.
func (fs *FS) lookUp(path winpath.Path, links *int) (*Location, kernel.Handle, error) {
	root, rest, err := fs.checkDirs(path)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) > 0 {
		loc := &Location{Path: path, fs: fs}
		h, err := fs.openBelow(loc, root, strings.Join(rest, `\`))
		if err == nil {
			return loc, h, nil
		}
		loc.Close()
		if errdefs.HasCode(err, win32.ERROR_FILE_NOT_FOUND) { // nothing above it is missing
			return nil, nil, err
		}
	}
	loc, err := fs.walk(path, root, rest, Walk{}, links)
	if err != nil {
		return nil, nil, err
	}
	h := loc.dir
	if loc.name != "" {
		h, err = loc.open(loc.openAsIs(0))
	}
	if err != nil {
		loc.Close()
		return nil, nil, err
	}
	return loc, h, nil
}

// errElsewhere means that what was opened is not known to be what was asked for.
var errElsewhere = errors.New("another path was opened")

// openBelow opens a path below a working directory with the demand that Windows follows no link on the way. The opened
// object must have the name that was asked for, its volume included: where Windows ignores the demand, a link may lead
// to the same path of another volume.
//
// https://github.com/golang/go/issues/73080
func (fs *FS) openBelow(loc *Location, root winpath.Path, rest string) (kernel.Handle, error) {
	if err := fs.enterRoot(loc, root, Walk{}); err != nil {
		return nil, err
	}
	how := loc.openAsIs(0)
	how.NoReparse = true
	h, err := fs.kernel.OpenFile(loc.dir, rest, how)
	if err != nil {
		return nil, err
	}
	loc.own(h)
	above, err := loc.dir.FinalPath(win32.VOLUME_NAME_NT)
	if err != nil {
		return nil, errElsewhere
	}
	final, err := h.FinalPath(win32.VOLUME_NAME_NT)
	if err != nil || winpath.Fold(final) != winpath.Fold(above+`\`+rest) {
		return nil, errElsewhere
	}
	return h, nil
}
