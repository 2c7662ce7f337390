// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// CreateSymlink makes a directory link at targetPath that leads to sourcePath, the reverse of Win32's names. The
// source may be missing, but not be a file. The same link there already is success; anything else there is
// AlreadyExists. The link's parent directory has to exist.
func (f *Filesystem) CreateSymlink(ctx context.Context, sourcePath, targetPath string) error {
	source, err := f.paths.parse(sourcePath, winpath.Options{})
	if err != nil {
		return err
	}
	link, err := f.paths.parse(targetPath, winpath.Options{})
	if err != nil {
		return err
	}
	if err := f.paths.notWorkingDir(source, "linked to"); err != nil {
		return err
	}
	if err := f.paths.notWorkingDir(link, "made a link"); err != nil {
		return err
	}
	j := job{
		what:  fmt.Sprintf("CreateSymlink(%s, %s)", source, link),
		key:   "CreateSymlink " + source.String() + " " + link.Key(),
		locks: []string{pathLock(link)},
	}
	_, err = change(ctx, f.calls, j, func(o *op) (done, error) { return done{}, f.createSymlink(o, source, link) })
	return err
}

func (f *Filesystem) createSymlink(o *op, source, link winpath.Path) error {
	if err := f.linkable(o, source); err != nil {
		return err
	}
	return f.paths.makeLink(o, directoryLink{
		at: link, substitute: `\??\` + source.String(), print: source.String(),
		same: func(t winpath.Target) bool { return t.Kind == winpath.TargetLocal && t.Path.Equal(source) },
	})
}

// linkable refuses a file as the source of a directory link. A source that is not there yet is fine.
func (f *Filesystem) linkable(o *op, source winpath.Path) error {
	links := maxLinks
	l, err := f.paths.openAt(o, source, &links)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fail(err, "looking at the link's source %s", source)
	}
	defer l.Close()
	if l.reparse == nil && !l.isDirectory() {
		return errorf(FailedPrecondition, ReasonNotADir, "%s is a file; links are made to directories only", source)
	}
	return nil
}
