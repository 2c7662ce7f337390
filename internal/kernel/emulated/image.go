// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/plainfile"
)

const (
	disksDir   = "disks"
	volumesDir = "volumes"
	newSuffix  = ".new" // of a file or directory that is being made
)

// image is the file that holds a disk's bytes. All changes go through commit; the caller makes sure that only one runs
// at a time.
type image struct {
	host    *host
	home    string // the directory of the disk
	path    string
	journal string
	file    *os.File
	size    int64
	half    bool // a change is in the journal, but not completely in the image
}

// files returns the directory of a volume's files.
func (im *image) files(id guid.GUID) string { return contentPath(im.home, id) }

func (im *image) replay() error {
	var c change
	err := readOwn(im.journal, maxJournalBytes,
		"restore it, or remove it if the half-done change of the disk's tables may stay",
		func(text []byte) error { return unseal(text, journalFormat, &c) })
	if errors.Is(err, os.ErrNotExist) {
		im.half = false
		return nil
	}
	if damaged := new(*DamagedStateError); errors.As(err, damaged) {
		return err
	} else if err != nil {
		return im.host.noted(err)
	}
	im.half = true
	return im.finish(c)
}

// commit makes a change atomically, even if the process dies meanwhile.
func (im *image) commit(c change) error {
	for _, b := range c.Blocks {
		if b.Offset < 0 || b.Offset > im.size-int64(len(b.Data)) {
			return fmt.Errorf("change of %d bytes at %d is outside the image of %d", len(b.Data), b.Offset, im.size)
		}
	}
	if im.half { // an earlier change failed halfway; finish it before the next
		if err := im.replay(); err != nil {
			return err
		}
	}
	journal, err := seal(journalFormat, c)
	if err != nil {
		return err
	}
	if err := im.host.writeFile(im.journal, journal); err != nil {
		im.half = errors.Is(err, errNotDurable) // the journal has its name: the change is made, once the journal is durable
		return err
	}
	im.half = true
	return im.finish(c)
}

// finish applies a change that the journal holds, and removes the journal.
func (im *image) finish(c change) error {
	for _, b := range c.Blocks {
		if err := im.host.writeAt(im.file, b.Data, b.Offset); err != nil {
			return err
		}
	}
	if err := im.host.sync(im.file); err != nil {
		return err
	}
	for _, id := range c.Empty {
		if err := im.host.dropContent(im.files(id)); err != nil {
			return err
		}
	}
	for _, r := range c.Renamed {
		if err := im.rename(r); err != nil {
			return err
		}
	}
	if err := im.host.remove(im.journal); err != nil {
		return err
	}
	im.half = false
	return nil
}

// rename gives the files of a volume of a clone their new place. After a death it may have happened already.
func (im *image) rename(r renamedVolume) error {
	volumes, err := openVolumes(filepath.Dir(im.files(r.From)))
	if err != nil {
		return im.host.noted(err)
	}
	defer volumes.Close()
	err = im.host.renameIn(volumes, r.From.String(), r.To.String())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// grow makes the image longer. The new size is visible only once it is durable.
func (im *image) grow(sizeBytes int64) error {
	if err := im.host.truncate(im.file, sizeBytes); err != nil {
		return err
	}
	if err := im.host.sync(im.file); err != nil {
		return err
	}
	im.size = sizeBytes
	return nil
}

func contentPath(home string, id guid.GUID) string { return filepath.Join(home, volumesDir, id.String()) }

// dropContent removes the files of a volume: one rename hides them, and the deletion may take its time.
func (h *host) dropContent(path string) error {
	volumes, err := openVolumes(filepath.Dir(path))
	if err != nil {
		return h.noted(err)
	}
	defer volumes.Close()
	dropped := droppedPrefix + newImageName()
	err = h.renameIn(volumes, filepath.Base(path), dropped)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.removeAllIn(volumes, dropped)
}

// droppedPrefix begins the names of volume directories that are being deleted.
const droppedPrefix = "dropped-"

// hole returns how many bytes from an offset on were never written, as far as the host knows.
func (im *image) hole(offset int64) int64 {
	data, _, err := NextData(im.file, offset, im.size)
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

// change is one atomic change of a disk, as in its journal: blocks of its image, volumes whose files go with it, and
// volumes that get other names and keep their files.
type change struct {
	Blocks  []gpt.Block     `json:"blocks"`
	Empty   []guid.GUID     `json:"empty,omitempty"`
	Renamed []renamedVolume `json:"renamed,omitempty"`
}

// renamedVolume is a volume of a clone that gets an identity of its own.
type renamedVolume struct {
	From guid.GUID `json:"from"`
	To   guid.GUID `json:"to"`
}

const (
	journalFormat   = 1
	maxJournalBytes = 64 << 20 // more than any change has
)

func newImageName() string {
	return fmt.Sprintf("%016x", newSerial())
}

// createImage makes the image of a new disk: empty and sparse, or a copy of another file.
func (h *host) createImage(path string, r diskState) error {
	return h.inParent(path, func(dir *os.Root, name string) error {
		return h.replaceIn(dir, name, name+newSuffix, func(f *os.File) error {
			if r.ImagePath != "" {
				in, err := plainfile.Open(r.ImagePath, os.O_RDONLY)
				if err != nil {
					return err
				}
				if err := errors.Join(h.fill(f, in), in.Close()); err != nil {
					return err
				}
			}
			return errors.Join(markSparse(f), h.truncate(f, int64(r.SizeBytes)))
		})
	})
}

const restoreImage = "restore the image, or start with an empty state directory"

// openImage opens the image of a disk, and finishes a change that a death interrupted.
func (h *host) openImage(home string) (*image, error) {
	im := &image{host: h, home: home, path: filepath.Join(home, bundleImage), journal: filepath.Join(home, bundleJournal)}
	file, err := plainfile.Open(im.path, os.O_RDWR)
	switch {
	case errors.Is(err, plainfile.ErrNotRegular), errors.Is(err, os.ErrNotExist):
		return nil, &DamagedStateError{im.path, err.Error(), restoreImage}
	case err != nil: // the host's trouble, with an image that is there
		return nil, h.noted(err)
	}
	im.file = file
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(h.noted(err), file.Close())
	}
	im.size = info.Size()
	if err := im.replay(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return im, nil
}

func removeIfThere(name string) error {
	err := os.Remove(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
