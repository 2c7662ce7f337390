// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ErrAttachedElsewhere means that another node has a bundle attached.
var ErrAttachedElsewhere = errors.New("the disk is attached to another node")

// holders is the content of attached.json. It only says where to look: a node has a bundle attached if its node.json says
// so. So a detach changes nothing here, and nothing that a death leaves is ever wrong.
type holders struct {
	StateDirs []string `json:"stateDirs"`
}

// awaitLock takes a lock of a bundle, which ends when the file is closed. It waits for other nodes, of this process too: they
// hold it for one change.
func awaitLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|notThroughALink, 0o600)
	if err != nil {
		return nil, err
	}
	if err := awaitFileLock(f); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: f.Name(), Err: err}, f.Close())
	}
	return f, nil
}

// claim notes in a locked bundle that this node is about to have it attached, unless another node has it. Several may, if
// the switch MultiAttach is set on each.
func (n *Node) claim(home string) error {
	list, err := readHolders(home)
	if err != nil {
		return err
	}
	next := holders{StateDirs: []string{n.dir}}
	for _, dir := range list.StateDirs {
		if dir == n.dir {
			continue
		}
		there, shares, err := holds(dir, home)
		if err != nil {
			return err
		}
		if there && !(shares && n.state.Switches.MultiAttach) {
			return fmt.Errorf("%w: %s to the one in %s; detach it there, or set the switch multiAttach on both", ErrAttachedElsewhere, home, dir)
		}
		if there {
			next.StateDirs = append(next.StateDirs, dir)
		}
	}
	if len(next.StateDirs) == 1 {
		if err := n.host.removeDropped(home); err != nil {
			return err
		}
	}
	if slices.Equal(next.StateDirs, list.StateDirs) {
		return nil
	}
	return n.host.writeHolders(home, next)
}

// holds reports whether the node of a state directory has a bundle attached, and whether it shares it.
func holds(stateDir, home string) (there, shares bool, err error) {
	s, err := loadState(stateDir)
	if errors.Is(err, os.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	return s.bundle(stateDir, home) != nil, s.Switches.MultiAttach, nil
}

// bundle returns the record of the disk that is a bundle, nil if the node has not got it attached.
func (s *state) bundle(stateDir, home string) *diskState {
	for i := range s.Disks {
		if r := &s.Disks[i]; r.Bundle != "" && sameDir(r.home(stateDir), home) {
			return r
		}
	}
	return nil
}

// sameDir reports whether two paths lead to one directory.
func sameDir(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

func readHolders(home string) (list holders, err error) {
	text, err := os.ReadFile(filepath.Join(home, bundleHolders))
	if errors.Is(err, os.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}

func (h *host) writeHolders(home string, list holders) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return h.writeFile(filepath.Join(home, bundleHolders), append(text, '\n'))
}

// home returns the directory of a disk that is a bundle; empty: the disk is the node's own.
func (r *diskState) home(stateDir string) string {
	if r.Bundle == "" || filepath.IsAbs(r.Bundle) {
		return r.Bundle
	}
	return filepath.Join(stateDir, r.Bundle)
}
