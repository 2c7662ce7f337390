// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/plainfile"
)

func newImageName() string {
	return fmt.Sprintf("%016x", newSerial())
}

// createImage makes an empty sparse image. It gets its name when it has its size.
func (h *host) createImage(dir, name string, sizeBytes int64) error {
	return h.createImageAt(imagePath(dir, name), sizeBytes)
}

func (h *host) createImageAt(path string, sizeBytes int64) error {
	unfinished := path + newSuffix
	if err := removeIfThere(unfinished); err != nil {
		return h.noted(err)
	}
	if err := h.step("create", unfinished); err != nil {
		return err
	}
	f, err := os.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return h.noted(err)
	}
	err = errors.Join(markSparse(f), h.truncate(f, sizeBytes))
	if err == nil {
		err = h.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return h.rename(unfinished, path)
}

const restoreImage = "restore the image, or start with an empty state directory"

// openImage opens an image and finishes a change that a death interrupted.
func (h *host) openImage(dir, name string) (*image, error) {
	return h.open(&image{host: h, dir: dir, name: name})
}

func (h *host) open(im *image) (*image, error) {
	file, err := plainfile.Open(im.path(), os.O_RDWR)
	switch {
	case errors.Is(err, plainfile.ErrNotRegular), errors.Is(err, os.ErrNotExist):
		return nil, &DamagedStateError{im.path(), err.Error(), restoreImage}
	case err != nil: // the host's trouble, with an image that is there
		return nil, h.noted(err)
	}
	im.file = file
	if err := im.measure(); err != nil {
		return nil, errors.Join(h.noted(err), im.file.Close())
	}
	unlock, err := im.alone()
	if err == nil {
		err = im.replay()
		unlock()
	}
	if err != nil {
		return nil, errors.Join(err, im.file.Close())
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
