// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

const (
	disksDir   = "disks"
	volumesDir = "volumes"
	newSuffix  = ".new" // of a file or directory that is being made
)

// image is the file that holds a disk's bytes.
type image struct {
	host *hostfiles.Host
	home string // the directory of the disk
	path string
	file *os.File
	size int64
}

// files returns the directory of a volume's files.
func (im *image) files(id guid.GUID) string { return contentPath(im.home, id) }

// change is one atomic change of a disk: blocks of its image, volumes whose files go with it, and volumes that get
// other names and keep their files.
type change struct {
	Image   string          `json:"image"` // of the disk
	Blocks  []gpt.Block     `json:"blocks"`
	Empty   []guid.GUID     `json:"empty,omitempty"`
	Renamed []renamedVolume `json:"renamed,omitempty"`
}

// renamedVolume is a volume of a clone that gets an identity of its own.
type renamedVolume struct {
	From guid.GUID `json:"from"`
	To   guid.GUID `json:"to"`
}

// commit makes an atomic change of the disk, and reads it again.
func (d *disk) commit(c change) error {
	for _, b := range c.Blocks {
		if b.Offset < 0 || b.Offset > d.image.size-int64(len(b.Data)) {
			return fmt.Errorf("change of %d bytes at %d is outside the image of %d", len(b.Data), b.Offset, d.image.size)
		}
	}
	c.Image = d.record.Image
	if err := d.node.update(func(s *state) { s.Changes = append(s.Changes, c) }); err != nil {
		return err
	}
	return d.node.finishChanges()
}

// finishChanges makes the changes of disks that node.json has. From the moment when it has one, the change is made,
// whatever ends the process: before the next call, or at the next start.
func (n *Node) finishChanges() error {
	if len(n.state.Changes) == 0 {
		return nil
	}
	for _, d := range n.disks {
		for _, c := range n.state.Changes {
			if c.Image == d.record.Image {
				if err := d.image.make(c); err != nil {
					return err
				}
			}
		}
	}
	err := n.follow(func(s *state) { s.Changes = nil })
	for _, d := range n.disks {
		err = errors.Join(err, d.refresh())
	}
	return err
}

// make makes a change, parts of which may have been made before.
func (im *image) make(c change) error {
	if err := im.write(c.Blocks); err != nil {
		return err
	}
	for _, id := range c.Empty {
		if err := emptyContent(im.host, im.files(id)); err != nil {
			return err
		}
	}
	for _, r := range c.Renamed {
		if err := im.rename(r); err != nil {
			return err
		}
	}
	return nil
}

func (im *image) write(blocks []gpt.Block) error {
	for _, b := range blocks {
		if err := im.host.WriteAt(im.file, b.Data, b.Offset); err != nil {
			return err
		}
	}
	return nil
}

// rename gives the files of a volume of a clone their new place. After a death it may have happened already.
func (im *image) rename(r renamedVolume) error {
	volumes, err := hostfiles.OpenRoot(filepath.Dir(im.files(r.From)))
	if err != nil {
		return im.host.Noted(err)
	}
	defer volumes.Close()
	err = im.host.RenameIn(volumes, r.From.String(), r.To.String())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// grow makes the image longer.
func (im *image) grow(sizeBytes int64) error {
	if err := im.host.Truncate(im.file, sizeBytes); err != nil {
		return err
	}
	im.size = sizeBytes
	return nil
}

func contentPath(home string, id guid.GUID) string {
	return filepath.Join(home, volumesDir, id.String())
}

// emptyContent removes the files of a volume: one rename hides them, and the deletion may take its time. The directory
// is there afterwards, for the processes that use a volume which is formatted while it is mounted.
func emptyContent(h *hostfiles.Host, path string) error {
	volumes, err := hostfiles.OpenRoot(filepath.Dir(path))
	if err != nil {
		return h.Noted(err)
	}
	defer volumes.Close()
	dropped := hostfiles.DroppedPrefix + hostfiles.NewName()
	err = h.RenameIn(volumes, filepath.Base(path), dropped)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := h.MkdirIn(volumes, filepath.Base(path)); err != nil {
		return err
	}
	return h.RemoveAllIn(volumes, dropped)
}

// hole returns how many bytes from an offset on were never written, as far as the host knows.
func (im *image) hole(offset int64) int64 {
	data, _, err := hostfiles.NextData(im.file, offset, im.size)
	if err != nil {
		return 0
	}
	return max(data-offset, 0)
}

// readAt reads from the disk. The host is not asked for ranges that were never written: it would make room for zeros in
// its memory, and checks of 64 blank disks at once read a gigabyte.
func (im *image) readAt(p []byte, offset int64) (int, error) {
	end := offset + int64(len(p))
	if im.hole(offset) >= int64(len(p)) && end <= im.size {
		clear(p)
		return len(p), nil
	}
	return im.file.ReadAt(p, offset)
}

// createImage makes the image of a new disk: empty and sparse, or a copy of another file.
func createImage(h *hostfiles.Host, path string, r diskState) error {
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
			return errors.Join(hostfiles.MarkSparse(f), h.Truncate(f, int64(r.SizeBytes)))
		})
	})
}

const restoreImage = "restore the image, or start with an empty state directory"

// openImage opens the image of a disk.
func openImage(h *hostfiles.Host, home string) (*image, error) {
	im := &image{host: h, home: home, path: filepath.Join(home, bundleImage)}
	file, err := plainfile.Open(im.path, os.O_RDWR)
	switch {
	case errors.Is(err, plainfile.ErrNotRegular), errors.Is(err, os.ErrNotExist):
		return nil, hostfiles.Damaged(im.path, err.Error(), restoreImage)
	case err != nil: // the host's trouble, with an image that is there
		return nil, h.Noted(err)
	}
	im.file = file
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(h.Noted(err), file.Close())
	}
	im.size = info.Size()
	return im, nil
}
