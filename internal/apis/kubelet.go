// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// kubeletFiles is kubelet's directory as package stepwise looks at it: names, and links to shares. The agent looks
// there for itself, so no client's rule applies.
type kubeletFiles struct {
	files *node.Filesystem
	dir   string
}

var (
	_ fs.ReadLinkFS = kubeletFiles{}
	_ fs.ReadDirFS  = kubeletFiles{}
	_ fs.StatFS     = kubeletFiles{}
)

// lookTime is how long one look may take.
const lookTime = 30 * time.Second

func (k kubeletFiles) path(name string) string {
	if name == "." {
		return k.dir
	}
	return k.dir + `\` + strings.ReplaceAll(name, "/", `\`)
}

// Open fails: no file is read.
func (kubeletFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}

// Stat finds the directory itself.
func (k kubeletFiles) Stat(name string) (fs.FileInfo, error) { return k.Lstat(name) }

// ReadDir returns the names in a directory.
func (k kubeletFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	names, err := k.files.Contents(ctx, k.path(name))
	entries := make([]fs.DirEntry, len(names))
	for i, n := range names {
		entries[i] = fs.FileInfoToDirEntry(found{name: n})
	}
	return entries, lookError("read", name, err)
}

// Lstat finds out whether a path is a link to a share. Other types do not matter.
func (k kubeletFiles) Lstat(name string) (fs.FileInfo, error) {
	share, err := k.share("look at", name)
	return found{name: name, link: share != ""}, err
}

// ReadLink returns the remote path to which a link leads.
func (k kubeletFiles) ReadLink(name string) (string, error) { return k.share("read the link", name) }

func (k kubeletFiles) share(op, name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	share, err := k.files.ShareOf(ctx, k.path(name))
	return share, lookError(op, name, err)
}

// lookError returns a failure with the kind that tells a missing directory from one that cannot be read.
func lookError(op, name string, err error) error {
	var e *errdefs.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && slices.Contains([]string{reason.PathNotFound, reason.VolumeGone, reason.LinkRefused},
		e.Reason):
		err = fs.ErrNotExist // kubelet's own directories do not lie behind links or on volumes
	case errors.As(err, &e) && e.Reason == reason.NotADirectory:
		err = syscall.ENOTDIR
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// found is what is at a path.
type found struct {
	name string
	link bool // to a share
}

func (f found) Name() string { return f.name[strings.LastIndexByte(f.name, '/')+1:] }

// Mode returns the mode of a link or that of anything else.
func (f found) Mode() fs.FileMode {
	if f.link {
		return fs.ModeSymlink
	}
	return 0
}

// Size and the rest are not known.
func (found) Size() int64        { return 0 }
func (found) ModTime() time.Time { return time.Time{} }
func (found) IsDir() bool        { return false }
func (found) Sys() any           { return nil }
