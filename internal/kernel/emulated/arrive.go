// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// arrival is a disk that is being attached. Its record is in node.json before its image is touched, so that the image
// goes back to where it came from, whatever ends the attach.
type arrival struct {
	Image string `json:"image"`
	From  string `json:"from,omitempty"` // the path of an image from elsewhere; empty: the image is new
	Bytes int64  `json:"bytes,omitempty"`
}

// arrive brings the image of a new disk in, and adds the disk to node.json.
func (n *Node) arrive(record diskState) (*disk, error) {
	a := arrival{Image: record.Image}
	if record.ImagePath != "" {
		info, err := os.Lstat(record.ImagePath)
		if err != nil {
			return nil, err
		}
		if a.From, err = filepath.Abs(record.ImagePath); err != nil {
			return nil, err
		}
		a.Bytes = info.Size()
	}
	if err := n.update(func(s *state) { s.Arriving = append(s.Arriving, a) }); err != nil {
		return nil, err
	}
	d, err := n.bringIn(record)
	if err == nil {
		err = n.update(func(s *state) {
			s.Disks = append(s.Disks, d.record)
			s.dropArrival(a)
		})
	}
	if err == nil {
		return d, nil
	}
	if d != nil {
		_ = d.image.file.Close() // the disk was never visible
	}
	return nil, errors.Join(err, n.giveBack(a, err))
}

func (n *Node) bringIn(record diskState) (*disk, error) {
	if _, err := n.host.placeImage(n.dir, record); err != nil {
		return nil, err
	}
	d, err := n.newDisk(record)
	if err != nil {
		return nil, err
	}
	if !record.Offline {
		if err := d.leaveIdentities(); err != nil {
			return d, err
		}
	}
	return d, nil
}

// giveBack ends an attach that failed. If the image cannot go back, the error says where it is.
func (n *Node) giveBack(a arrival, cause error) error {
	var err error
	if errors.Is(cause, errNotDurable) { // node.json may have the disk
		err = n.host.saveState(n.dir, n.state)
	}
	if err == nil {
		err = n.turnBack(a)
	}
	if _, there := os.Lstat(imagePath(n.dir, a.Image)); err != nil && there == nil && a.From != "" {
		return fmt.Errorf("%w; the image is %s, and goes back to %s when the host recovers or the node starts again", err,
			imagePath(n.dir, a.Image), a.From)
	}
	return err
}

// turnBack undoes what was done for a disk that did not arrive: a new image is removed, and one from elsewhere goes
// back, with its old size. If its place is taken, it is kept with the detached ones. A clone may have got its new
// identity.
func (n *Node) turnBack(a arrival) error {
	_, err := os.Lstat(imagePath(n.dir, a.Image))
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = nil
	case err != nil:
		err = n.host.noted(err)
	case a.From == "":
		err = n.host.remove(imagePath(n.dir, a.Image)) // its journal, if any, is left to tidy
	default:
		err = n.moveBack(a)
	}
	if err != nil {
		return err
	}
	return n.follow(nil, func(s *state) { s.dropArrival(a) })
}

func (n *Node) moveBack(a arrival) error {
	if err := n.host.complete(n.dir, a.Image); err != nil {
		return err
	}
	_, err := os.Lstat(a.From)
	switch {
	case err == nil:
		return n.host.setAside(n.dir, a.Image)
	case !errors.Is(err, os.ErrNotExist):
		return n.host.noted(err)
	}
	image := imagePath(n.dir, a.Image)
	if err := n.host.resize(image, a.Bytes); err != nil {
		return err
	}
	return n.host.rename(image, a.From)
}

func (s *state) dropArrival(a arrival) {
	s.Arriving = slices.DeleteFunc(s.Arriving, func(o arrival) bool { return o.Image == a.Image })
}
