// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Paths may lead to the shares in Windows' list of global mappings, and to no others. The list outlives the agent, as
// links do, and every process on the node can reach its shares, so following a link there grants no new access. Another
// share is not even contacted: that would send the node's own credentials to a server of a workload's choice. A walk
// holds the share until its last file is closed: see shareGuard. Other programs can still remove the mapping.

// ShareRoot returns the root directory of a share for OpenFile.
func ShareRoot(key string) string { return `\\?\UNC` + key[1:] + `\` }

// Mappings lists the global mappings. It asks Windows, never a file server.
func (fs *FS) Mappings() ([]kernel.SMBGlobalMapping, error) {
	restore, err := fs.run.TrackObject(operation.SMBMappings)
	if err != nil {
		return nil, err
	}
	defer restore()
	mappings, err := fs.kernel.SMBGlobalMappings()
	if err != nil {
		var e *errdefs.Error
		if errors.As(errdefs.Errorf(err, "listing the shares that are mapped"), &e) {
			if e.Class != errdefs.FailedPrecondition { // a service that does not run
				e.Class = errdefs.Unavailable
			}
			err = e
		}
		return nil, err
	}
	return mappings, nil
}

// Mapping returns the global mapping of a share, nil if there is none.
func (fs *FS) Mapping(key string) (*kernel.SMBGlobalMapping, error) {
	mappings, err := fs.Mappings()
	if err != nil {
		return nil, err
	}
	for _, m := range mappings {
		if MappingKey(m.RemotePath) == key {
			return &m, nil
		}
	}
	return nil, nil //nolint:nilnil // no mapping is an answer
}

// MappingKey returns the key of the share that a mapping with this remote path is of.
func MappingKey(remotePath string) string { return winpath.Fold(strings.TrimSuffix(remotePath, `\`)) }

// enterShare continues the walk from a link to a mapped share. Workloads write there, as in a mounted volume.
func (fs *FS) enterShare(loc *Location, name string, share winpath.UNC, w Walk) error {
	key := share.Key()
	if why := NotFileShare(share.Server, share.Share); why != "" {
		return refusedLink(loc.Path, name, "it leads to "+key+": "+why)
	}
	if err := fs.scope.Server(share.Server); err != nil {
		return err
	}
	// from here on, a hang is one of the server, or of the removal of its mapping
	if _, err := fs.run.TrackObject(operation.Share(key)); err != nil {
		return err
	}
	if !w.Look {
		if err := loc.holdShare(key); err != nil {
			return err
		}
	}
	mapping, err := fs.Mapping(key)
	if err != nil {
		return err
	}
	if mapping == nil {
		return refusedLink(loc.Path, name, "it leads to the share "+key+", which is not mapped")
	}
	w.Create = false // a caller may not make the link's own target
	rest := share.Rest
	root, err := fs.kernel.OpenFile(nil, ShareRoot(key), w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	if errdefs.IsDenied(err) && len(rest) > 0 {
		root, err = fs.openBelowRoot(key, rest[0],
			w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE|win32.FILE_OPEN_REPARSE_POINT))
		rest = rest[1:]
	}
	if err != nil {
		return errdefs.Errorf(err, "entering the share %s on the way to %s", key, loc.Path)
	}
	loc.dir, loc.inVolume, loc.inShare = loc.own(root), true, true
	for _, below := range rest {
		if _, err := fs.enter(loc, below, w); err != nil {
			return err
		}
	}
	return nil
}

// OpenShare opens the directory on a share to which the link at a path leads, and closes it.
func (fs *FS) OpenShare(share winpath.UNC, at winpath.Path, w Walk) error {
	loc := &Location{Path: at, fs: fs}
	defer loc.Close()
	return fs.enterShare(loc, at.Base(), share, w)
}

// openBelowRoot opens a directory in the root of a share whose root itself denies access. It fails for a link.
func (fs *FS) openBelowRoot(key, name string, how kernel.OpenOptions) (kernel.Handle, error) {
	h, err := fs.kernel.OpenFile(nil, ShareRoot(key)+name, how)
	if err != nil {
		return nil, err
	}
	l, err := LookAt(h)
	if err == nil && l.Reparse != nil {
		err = errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link on the share %s, where workloads write", name, key)
	}
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// OnShare reports whether the open object lies on a share, not on a volume.
func OnShare(l *File) bool {
	text, err := l.FinalPath(win32.VOLUME_NAME_DOS)
	const prefix = `\\?\UNC\`
	return err == nil && len(text) > len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// ShareSpace asks the file system behind the directory on a share, to which the link at a path leads, for its sizes.
func (fs *FS) ShareSpace(share winpath.UNC, at winpath.Path) (win32.FileFsFullSize, error) {
	loc := &Location{Path: at, fs: fs}
	defer loc.Close()
	if err := fs.enterShare(loc, at.Base(), share, Walk{}); err != nil {
		return win32.FileFsFullSize{}, err
	}
	var buffer [win32.SizeofFileFsFullSize]byte
	if err := loc.dir.FsInformation(win32.FileFsFullSizeInformation, buffer[:]); err != nil {
		return win32.FileFsFullSize{}, errdefs.Errorf(err, "asking for the size of the share to which %s leads", at)
	}
	return win32.ParseFileFsFullSize(buffer[:])
}
