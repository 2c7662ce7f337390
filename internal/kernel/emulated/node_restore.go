// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// restoringDir is the copy of a saved node that is to take the node's place.
const restoringDir = "restoring" + savingSuffix

// PrepareRestore copies what Save wrote into a directory, so that Restore finds it. The node stays as it is.
func (n *Node) PrepareRestore(from string) error {
	return n.control(func() error {
		if !filepath.IsAbs(from) {
			return fmt.Errorf("%w: %s is not an absolute path", ErrInvalidSpec, from)
		}
		if sameDir(from, n.dir) {
			return fmt.Errorf("%w: %s is the state directory of the node itself", ErrInvalidSpec, from)
		}
		if _, err := os.Lstat(from); err != nil {
			return fmt.Errorf("no saved node is there, as csi-proxyctl node save makes them: %w", err)
		}
		if !Exists(from) {
			return fmt.Errorf("%w: %s is not a saved node", ErrInvalidSpec, from)
		}
		lock, _, err := lockDir(from) // it may be the state directory of a node that runs
		if err != nil {
			return err
		}
		defer lock.Close()
		return n.takeCopy(from)
	})
}

// takeCopy copies a saved node into the state directory.
func (n *Node) takeCopy(from string) error {
	s, err := loadState(from)
	if err != nil {
		return err
	}
	saved := &Node{dir: from, host: n.host}
	return saved.copyTo(filepath.Join(n.dir, restoringDir), s)
}

// Restore makes the node what PrepareRestore copied. Open handles die. Bundles that were attached are detached; what
// else was in the state directory is gone, the detached disks too.
func (n *Node) Restore() error {
	return n.control(func() error {
		if err := n.finishMoves(); err != nil { // what is to leave the directory would be gone
			return err
		}
		s, err := loadState(filepath.Join(n.dir, restoringDir))
		if err != nil {
			return err
		}
		var moves []fileMove
		for _, name := range stateDirs() {
			moves = append(moves, fileMove{From: filepath.Join(restoringDir, name), To: name})
		}
		s.Moves = append(moves, s.Moves...)
		err = n.host.saveState(n.dir, s)
		n.restoring = err == nil || errors.Is(err, errNotDurable) // from now on: if it fails, repair goes on with it
		if err != nil {
			return err
		}
		return n.becomeRestored()
	})
}

func (n *Node) becomeRestored() error {
	if err := n.putDown(); err != nil {
		return err
	}
	if err := n.host.syncAgain(); err != nil {
		return err
	}
	s, err := loadState(n.dir)
	if err != nil {
		return err
	}
	n.disks, n.host.failed = map[uint32]*disk{}, false
	if err := n.run(s); err != nil {
		return err
	}
	n.restoring = false
	return nil
}
