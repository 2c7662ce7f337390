// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// Filesystem is the filesystem group: directories and links in the working directories.
type Filesystem struct {
	calls *calls
	paths *paths
}

// PathExists tells whether there is anything at a path: a link or mount point counts, wherever it leads.
func (f *Filesystem) PathExists(ctx context.Context, path string) (bool, error) {
	parsed, err := f.paths.parse(path, winpath.Options{})
	if err != nil {
		return false, err
	}
	return read(ctx, f.calls, "PathExists", func(o *op) (bool, error) {
		links := maxLinks
		l, err := f.paths.openAt(o, parsed, &links)
		if missing(err) {
			return false, nil
		}
		if err != nil {
			return false, fail(err, "looking at %s", parsed)
		}
		return true, l.Close()
	})
}

// IsSymlink tells whether a link or a mounted volume stands at a path and what it leads to is there. A plain directory
// or file, or a link that leads nowhere or out of the working directories, is false; a missing path is an error.
func (f *Filesystem) IsSymlink(ctx context.Context, path string) (bool, error) {
	parsed, err := f.paths.parse(path, winpath.Options{ForwardSlash: true})
	if err != nil {
		return false, err
	}
	return read(ctx, f.calls, "IsSymlink", func(o *op) (bool, error) {
		links := maxLinks
		l, err := f.paths.openAt(o, parsed, &links)
		if missing(err) {
			return false, pathNotFound(parsed, err)
		}
		if err != nil {
			return false, fail(err, "looking at %s", parsed)
		}
		defer l.Close()
		if l.reparse == nil {
			return false, nil
		}
		return f.paths.targetExists(o, l, parsed), nil
	})
}

// targetExists tells whether what a link or mount point leads to is there. Where the policy does not let us look, and
// where looking fails, it is not: nobody should rely on it.
func (p *paths) targetExists(o *op, l *leaf, at winpath.Path) bool {
	for links := maxLinks; l.reparse != nil; {
		if id, ok := l.mountedVolume(); ok {
			system, err := o.systemVolume()
			return err == nil && system != id && o.volumePresent(id)
		}
		if share, ok := l.share(); ok {
			return p.shareAnswers(o, share, at)
		}
		var err error
		if at, err = p.linkTarget(l, at, &links); err != nil {
			return false
		}
		if l, err = p.openAt(o, at, &links); err != nil {
			return false
		}
		_ = l.Close() // what it is has been read
	}
	return true
}

// volumePresent tells whether a volume is there, formatted or not.
func (o *op) volumePresent(id winpath.VolumeID) bool {
	h, err := o.k.OpenDevice(id.Device(), 0)
	if err != nil {
		return false
	}
	_ = h.Close()
	return true
}

// Mkdir makes a directory and its parents. One that is there already is success.
func (f *Filesystem) Mkdir(ctx context.Context, path string) error {
	parsed, err := f.paths.parse(path, winpath.Options{})
	if err != nil {
		return err
	}
	j := job{what: "Mkdir", key: "Mkdir " + parsed.Key(), locks: []string{pathLock(parsed)}}
	_, err = change(ctx, f.calls, j, func(o *op) (done, error) {
		pl, err := f.paths.locate(o, parsed, walk{create: true})
		if err != nil {
			return done{}, err
		}
		defer pl.close()
		l, err := pl.makeDirectory(o)
		if err != nil {
			return done{}, err
		}
		defer l.Close()
		if l.reparse != nil && !f.paths.targetExists(o, l, parsed) {
			return done{}, errorf(FailedPrecondition, ReasonLinkRefused, "%s is a link that leads to no directory here; remove it with Rmdir", parsed)
		}
		return done{}, nil
	})
	return err
}

func pathNotFound(path winpath.Path, err error) error {
	return &Error{Class: NotFound, Reason: ReasonPathNotFound, Err: err, Message: path.String() + " is not there"}
}
