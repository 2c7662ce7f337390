// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
)

// The directories of disks, in a state directory, and of the files of volumes, in that of a disk.
const (
	DisksDir   = "disks"
	VolumesDir = "volumes"
	newSuffix  = ".new" // of a file or directory that is being made
)

// Image is the file that holds a disk's bytes.
type Image struct {
	host *hostfiles.Host
	Home string // the directory of the disk
	Path string
	File *os.File
	Size int64
}

// Files returns the directory of a volume's files.
func (im *Image) Files(id guid.GUID) string { return FilesPath(im.Home, id) }

// Write writes blocks, which are inside the image, in their order, which is such that a death on the way leaves what
// was there before or the whole change, but for copies.
func (im *Image) Write(blocks []ondisk.Block) error {
	for _, b := range blocks {
		if err := im.host.WriteAt(im.File, b.Data, b.Offset); err != nil {
			return err
		}
	}
	return nil
}

// Empty removes the files of a volume: one rename hides them, and the deletion may take its time. After a death, the
// next format removes what is left. The directory is there afterwards, for the processes that use a volume which is
// formatted while it is mounted.
func (im *Image) Empty(id guid.GUID) error {
	volumes, err := hostfiles.OpenRoot(filepath.Join(im.Home, VolumesDir))
	if err != nil {
		return err
	}
	defer volumes.Close()
	name := id.String()
	dropped := hostfiles.DroppedPrefix + name
	if err := im.host.RemoveAllIn(volumes, dropped); err != nil {
		return err
	}
	err = im.host.RenameIn(volumes, name, dropped)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := im.host.MkdirIn(volumes, name); err != nil {
		return err
	}
	return im.host.RemoveAllIn(volumes, dropped)
}

// Rename gives the files of a volume of a clone their new place, if there are any.
func (im *Image) Rename(from, to guid.GUID) error {
	volumes, err := hostfiles.OpenRoot(filepath.Join(im.Home, VolumesDir))
	if err != nil {
		return err
	}
	defer volumes.Close()
	if err := im.host.RenameIn(volumes, from.String(), to.String()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Grow makes the image longer.
func (im *Image) Grow(sizeBytes int64) error {
	if err := im.host.Truncate(im.File, sizeBytes); err != nil {
		return err
	}
	im.Size = sizeBytes
	return nil
}

// FilesPath returns the directory of a volume's files in that of its disk.
func FilesPath(home string, id guid.GUID) string {
	return filepath.Join(home, VolumesDir, id.String())
}

// ReadAt reads from the disk. The host is not asked for ranges that were never written: it would make room for zeros in
// its memory, and checks of 64 blank disks at once read a gigabyte.
func (im *Image) ReadAt(p []byte, offset int64) (int, error) {
	if end := offset + int64(len(p)); end <= im.Size {
		if data, _, err := hostfiles.NextData(im.File, offset, im.Size); err == nil && data >= end {
			clear(p)
			return len(p), nil
		}
	}
	return im.File.ReadAt(p, offset)
}

// createImage makes the image of a new disk: empty and sparse, or a copy of another file.
func createImage(h *hostfiles.Host, path string, r Record) error {
	return h.InParent(path, func(dir *os.Root, name string) error {
		return h.ReplaceIn(dir, name, name+newSuffix, func(f *os.File) error {
			if r.ImagePath != "" {
				in, err := plainfile.Open(r.ImagePath, os.O_RDONLY)
				if err != nil {
					return err
				}
				if err := errors.Join(h.Fill(f, in), in.Close()); err != nil {
					return err
				}
			}
			hostfiles.MarkSparse(f)
			return h.Truncate(f, int64(r.SizeBytes))
		})
	})
}

// RestoreImage is advice.
const RestoreImage = "restore the image, or start with an empty state directory"

// Open opens the image of a disk.
func Open(h *hostfiles.Host, home string) (*Image, error) {
	im := &Image{host: h, Home: home, Path: filepath.Join(home, ImageFile)}
	file, err := plainfile.Open(im.Path, os.O_RDWR)
	switch {
	case errors.Is(err, plainfile.ErrNotRegular), errors.Is(err, os.ErrNotExist):
		return nil, hostfiles.Damaged(im.Path, err.Error(), RestoreImage)
	case err != nil: // the host's trouble, with an image that is there
		return nil, err
	}
	im.File = file
	volumes, err := hostfiles.OpenRoot(filepath.Join(home, VolumesDir)) // which a link would lead elsewhere
	if err == nil {
		err = volumes.Close()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	im.Size = info.Size()
	return im, nil
}
