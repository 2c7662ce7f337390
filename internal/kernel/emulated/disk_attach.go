// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
)

// addDisk brings the image of a new disk in, and adds the disk to node.json. Before that, node.json says where the
// image goes if anything ends the attach: back to where it came from, or nowhere. A clone may have got its new
// identity.
func (n *Node) addDisk(record diskState) (*disk, error) {
	back := []fileMove{{From: imagePath("", record.Image)}}
	if record.ImagePath != "" {
		info, err := os.Lstat(record.ImagePath)
		if err != nil {
			return nil, err
		}
		if back[0].To, err = filepath.Abs(record.ImagePath); err != nil {
			return nil, err
		}
		back[0].Size = info.Size()
	}
	if err := n.update(func(s *state) { s.Moves = append(s.Moves, back...) }); err != nil {
		return nil, err
	}
	d, err := n.bringIn(record)
	if err == nil {
		err = n.update(func(s *state) {
			s.Disks = append(s.Disks, d.record)
			s.dropMoves(back)
		})
	}
	if err == nil {
		return d, nil
	}
	if d != nil {
		_ = d.image.file.Close() // the disk was never visible
	}
	return nil, errors.Join(err, n.undoMoves(back, err))
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

// undoMoves makes the moves that undo a change, after the error that ended it.
func (n *Node) undoMoves(moves []fileMove, cause error) error {
	if errors.Is(cause, errNotDurable) { // node.json may have the change
		if err := n.host.saveState(n.dir, n.state); err != nil && len(moves) > 0 {
			return moves[0].later(n.dir, err)
		} else if err != nil {
			return err
		}
	}
	return n.finishMoves()
}
