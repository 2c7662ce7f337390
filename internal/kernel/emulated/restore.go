// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// restoringDir is the copy of a saved node that takes the node's place. It gets this name when it is complete; from
// then on the node is what was saved, even if a death interrupts the rest.
const restoringDir = "restoring"

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
	making := filepath.Join(n.dir, restoringDir+savingSuffix)
	if err := n.host.removeAll(making); err != nil {
		return err
	}
	if err := n.host.mkdirAll(making, 0o700); err != nil {
		return err
	}
	saved := &Node{dir: from, host: n.host}
	if err := saved.copyState(making, s.Disks); err != nil {
		return err
	}
	return n.host.saveState(making, s)
}

// Restore makes the node what PrepareRestore copied. Open handles die. Bundles that were attached are detached; what
// else was in the state directory is gone, the detached disks too.
func (n *Node) Restore() error {
	return n.control(func() error {
		copied := filepath.Join(n.dir, restoringDir)
		err := n.host.rename(copied+savingSuffix, copied)
		n.restoring = err == nil || errors.Is(err, errNotDurable) // from now on: if it fails, settle goes on with it
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
	if err := n.host.finishRestore(n.dir); err != nil {
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

// finishRestore puts a complete copy in the place of the node. Each step may have been made before a death; node.json
// comes last, and then the copy is empty.
func (h *host) finishRestore(dir string) error {
	copied := filepath.Join(dir, restoringDir)
	if _, err := os.Lstat(copied); errors.Is(err, os.ErrNotExist) {
		return h.removeAll(copied + savingSuffix)
	}
	for _, name := range append(stateDirs(), stateFile) {
		if _, err := os.Lstat(filepath.Join(copied, name)); errors.Is(err, os.ErrNotExist) {
			continue // it is in its place already
		} else if err != nil {
			return err
		}
		if name != stateFile {
			if err := h.removeAll(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		if err := h.rename(filepath.Join(copied, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return h.removeAll(copied)
}
