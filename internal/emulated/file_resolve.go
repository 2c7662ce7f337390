// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
)

// maxReparse is how many links and mount points Windows follows in one path.
// https://learn.microsoft.com/windows/win32/fileio/reparse-points
const maxReparse = 63

// location is the end of a path: a directory of a volume, and a name in it. The directory is open; the location's
// holder closes it.
type location struct {
	content *content
	parent  *os.Root         // nil for the root directory itself
	above   []string         // from the root to parent
	name    string           // as stored, if it is there; "" for the root directory
	found   *hostfiles.Entry // nil while the name is missing
}

func (p *location) close() {
	if p.parent != nil {
		_ = p.parent.Close()
	}
}

// names returns the names from the root of the volume to the place.
func (p *location) names() []string {
	if p.parent == nil {
		return nil
	}
	return append(slices.Clip(p.above), p.name)
}

// elsewhere is the error of a walk that comes to a link which must be followed: the path to walk instead, as Windows'
// STATUS_REPARSE. Without following, it is ERROR_REPARSE_POINT_ENCOUNTERED.
type elsewhere struct{ ntpath.Path }

func (elsewhere) Error() string { return "a link is on the way" }

func (elsewhere) Unwrap() error { return win32.ERROR_REPARSE_POINT_ENCOUNTERED }

// resolve walks a path. Links and mount points on the way are followed; if follow is set, even the last name. A missing
// last name is not an error; a missing name before it is ERROR_PATH_NOT_FOUND.
func (n *Node) resolve(p ntpath.Path, follow bool) (*location, error) {
	for range maxReparse + 1 {
		at, err := n.walk(p, follow)
		next, ok := errors.AsType[elsewhere](err)
		if !ok {
			return at, err
		}
		p = next.Path
	}
	return nil, win32.ERROR_CANT_RESOLVE_FILENAME
}

// walk goes along a path up to its end, or to the first link that must be followed: elsewhere.
func (n *Node) walk(p ntpath.Path, follow bool) (*location, error) {
	at, err := n.enter(p)
	if err != nil || at.parent == nil {
		return at, err
	}
	return at.look(p, follow)
}

// enter is walk up to the last name of a path, at which it does not look.
func (n *Node) enter(p ntpath.Path) (_ *location, err error) {
	c, p, err := n.fileSystemOf(p)
	if err != nil || len(p.Names) == 0 {
		return &location{content: c}, err
	}
	last := len(p.Names) - 1
	at := &location{content: c, name: p.Names[last]}
	if at.parent, err = c.root.OpenRoot("."); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			at.close()
		}
	}()
	for i, name := range p.Names[:last] {
		e, below, err := hostfiles.Enter(at.parent, name)
		switch {
		case err == nil && e.Tag != 0:
			return nil, c.follow(at, e, p, i)
		case err == nil && below == nil || errors.Is(err, fs.ErrNotExist):
			return nil, win32.ERROR_PATH_NOT_FOUND
		case err != nil:
			return nil, err
		}
		at.close()
		at.parent, at.above = below, append(at.above, e.Name)
	}
	return at, nil
}

// look finds the entry of the last name of a path. If it fails, the place is closed.
func (p *location) look(path ntpath.Path, follow bool) (*location, error) {
	e, err := hostfiles.Lookup(p.parent, p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err == nil && e.Tag != 0 && follow:
		err = p.content.follow(p, e, path, len(path.Names)-1)
	case err == nil:
		p.name, p.found = e.Name, &e
		return p, nil
	}
	p.close()
	return nil, err
}

// follow returns elsewhere: where a reparse point, the i-th name of p, leads.
func (c *content) follow(at *location, e hostfiles.Entry, p ntpath.Path, i int) error {
	if c.isShare() {
		return win32.ERROR_SYMLINK_CLASS_DISABLED // Windows' default for links on remote file systems
	}
	r, err := e.Reparse()
	if err != nil {
		return err
	}
	var target ntpath.Path
	switch {
	case r.Tag != win32.IO_REPARSE_TAG_MOUNT_POINT && r.Tag != win32.IO_REPARSE_TAG_SYMLINK:
		return win32.ERROR_CANT_ACCESS_FILE
	case r.Relative:
		dir := ntpath.Path{Volume: c.id, Names: slices.Clone(at.above)}
		target, err = ntpath.RelativeTarget(dir, r.SubstituteName)
	default:
		target, err = ntpath.ParseSubstitute(r.SubstituteName)
	}
	if err != nil {
		return err
	}
	target.Names = append(target.Names, p.Names[i+1:]...)
	target.Slash = p.Slash
	return elsewhere{target}
}

// volumeOf returns the volume at which a path starts that is not one of a share.
func (n *Node) volumeOf(p ntpath.Path) (*volume, error) {
	id := p.Volume
	if p.Letter != "" {
		l := n.state.letter(p.Letter)
		if l == nil {
			return nil, win32.ERROR_PATH_NOT_FOUND
		}
		id = l.Volume
	}
	v := n.disks.volume(id)
	if v == nil {
		return nil, win32.ERROR_PATH_NOT_FOUND
	}
	return v, nil
}

// HostPath returns the path on the host of a Windows path. Links and mount points are followed as for a process on the
// node, even as the last name; the last name may be missing.
func (n *Node) HostPath(winPath string) (_ string, err error) {
	defer n.call("CreateFileW", winPath, &err)()
	at, err := n.lookUp(winPath, true)
	if err != nil {
		return "", err
	}
	defer at.close()
	return filepath.Join(append([]string{at.content.path}, at.names()...)...), nil
}

func (n *Node) lookUp(winPath string, follow bool) (*location, error) {
	p, err := ntpath.ParseWin32(winPath)
	if err != nil {
		return nil, err
	}
	return n.resolve(p, follow)
}

// Readlink returns the target of a link or mount point, as shown to people. Anything else is
// ERROR_NOT_A_REPARSE_POINT.
func (n *Node) Readlink(winPath string) (_ string, err error) {
	defer n.call("FSCTL_GET_REPARSE_POINT", winPath, &err)()
	at, err := n.lookUp(winPath, false)
	if err != nil {
		return "", err
	}
	defer at.close()
	switch {
	case at.parent == nil || at.found != nil && at.found.Tag == 0:
		return "", win32.ERROR_NOT_A_REPARSE_POINT
	case at.found == nil:
		return "", win32.ERROR_FILE_NOT_FOUND
	}
	r, err := at.found.Reparse()
	target := cmp.Or(r.PrintName, strings.TrimPrefix(r.SubstituteName, ntpath.Prefix))
	switch {
	case err == nil && target == "":
		err = win32.ERROR_CANT_ACCESS_FILE
	case strings.HasPrefix(target, "Volume{"):
		target = ntpath.VerbatimPrefix + target
	}
	return target, err
}
