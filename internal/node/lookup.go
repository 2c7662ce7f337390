// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// lookUp opens what is at a path, only to look at it; the place closes the handle. Without links on the way one opening
// below the working directory does; everything else is walked.
func (o *op) lookUp(path winpath.Path, links *int) (*place, kernel.Handle, error) {
	root, rest, err := o.checkDirs(path)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) > 0 {
		pl := &place{path: path}
		h, err := o.openBelow(pl, root, strings.Join(rest, `\`))
		if h != nil {
			return pl, h, nil
		}
		pl.close()
		if errdefs.HasCode(err, win32.ERROR_FILE_NOT_FOUND) { // nothing above it is missing
			return nil, nil, err
		}
	}
	pl, err := o.walk(path, root, rest, walk{}, links)
	if err != nil {
		return nil, nil, err
	}
	h := pl.dir
	if pl.name != "" {
		h, err = pl.handle(o, pl.asItIs(0))
	}
	if err != nil {
		pl.close()
		return nil, nil, err
	}
	return pl, h, nil
}

// openBelow opens a path below a working directory with the demand that Windows follows no link on the way. What was
// opened must have the name that was asked for, its volume included: a link, where the demand is not known, may lead to
// the same path of another volume. Without a handle, the error is that of the opening below.
//
// https://github.com/golang/go/issues/73080
func (o *op) openBelow(pl *place, root winpath.Path, rest string) (kernel.Handle, error) {
	if err := o.enterRoot(pl, root, walk{}); err != nil {
		return nil, nil
	}
	how := pl.asItIs(0)
	how.NoReparse = true
	h, err := o.Kernel.OpenFile(pl.dir, rest, how)
	if err != nil {
		return nil, err
	}
	pl.own(h)
	above, err := pl.dir.FinalPath(win32.VOLUME_NAME_NT)
	if err != nil {
		return nil, nil
	}
	final, err := h.FinalPath(win32.VOLUME_NAME_NT)
	if err != nil || winpath.Fold(final) != winpath.Fold(above+`\`+rest) {
		return nil, nil
	}
	return h, nil
}
