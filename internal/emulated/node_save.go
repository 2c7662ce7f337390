// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// Save copies the node into a new directory, which is then the state directory of a node that goes on as after the
// death of this one's process at that moment. All its disks are in it, bundles too, whatever else they are attached to:
// they are clones. So are their files and all secrets of the node; the directory is for its user alone.
//
// A clone is the same with an identity of its own, where two machines must not have one: the serial number of the
// system. Disks and volumes keep theirs, like those of machines that are made of one image; Windows gives a disk
// another identity when it comes online beside its twin, and so does the node.
func (n *Node) Save(to string, clone bool) error {
	defer n.control()()
	if !filepath.IsAbs(to) {
		return errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "%s is not an absolute path", to)
	}
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s is there already; name a new directory", to), err)
	}
	if _, ok := below(n.dir, to); ok {
		return errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "%s is in the state directory of the node itself", to)
	}
	saved := n.state.clone()
	if clone {
		serial := ondisk.NewSerial()
		saved.SystemSerial = fmt.Sprintf("EMU-%08X-%08X", uint32(serial>>32), uint32(serial))
	}
	return n.copyTo(to, saved)
}

// copyTo copies the node of a state into a new directory. It is a node from when it has its node.json.
func (n *Node) copyTo(to string, saved state) error {
	err := n.host.MkdirAll(to, 0o700)
	if err == nil {
		err = n.copyState(to, saved.Disks)
	}
	if err == nil {
		err = saveState(n.host, to, saved)
	}
	if err != nil {
		return errors.Join(err, n.host.RemoveAll(to))
	}
	return nil
}

// below returns the part of a path below a directory, if it is in there, or would be.
func below(dir, path string) (rest string, ok bool) {
	for up := filepath.Dir(path); ; up = filepath.Dir(up) {
		if hostfiles.SameDir(dir, up) {
			rest, err := filepath.Rel(up, path)
			return rest, err == nil
		}
		if up == filepath.Dir(up) {
			return "", false
		}
	}
}

// RecordsDir is the directory, in that of the node, for the agent's records of the node's shares and volumes.
const RecordsDir = "records"

// stateDirs returns the directories that make up a node together with node.json.
func stateDirs() []string { return []string{bundle.DisksDir, smb.SharesDir, RecordsDir} }

// copyState copies the directories of a node, and the bundles that are attached to it and lie elsewhere.
func (n *Node) copyState(to string, disks []bundle.Record) error {
	for _, name := range stateDirs() {
		err := n.host.CopyDir(filepath.Join(n.dir, name), filepath.Join(to, name))
		if name == RecordsDir && errors.Is(err, os.ErrNotExist) { // they were removed, or there were none to keep
			err = n.host.MkdirAll(filepath.Join(to, name), 0o700)
		}
		if err != nil {
			return err
		}
	}
	for i, r := range disks {
		if filepath.IsAbs(r.Bundle) {
			disks[i].Bundle = bundle.DiskHome(r.Image)
			if err := n.host.CopyDir(r.Bundle, filepath.Join(to, disks[i].Bundle)); err != nil {
				return err
			}
		}
	}
	return nil
}

// The new node, or copy of a saved one, that is to take the node's place: while it is made, and from when it is to do
// so. The next start puts the parts of the latter in their places.
const (
	restoringDir = "restoring"
	restoredDir  = "restored"
)

// PrepareRestore copies what Save wrote into a directory, so that Restore finds it, and opens the copy as a node: one
// that does not open is refused. The node stays as it is.
func (n *Node) PrepareRestore(from string) error {
	defer n.control()()
	if !filepath.IsAbs(from) {
		return errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "%s is not an absolute path", from)
	}
	if hostfiles.SameDir(from, n.dir) {
		return errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "%s is the state directory of the node itself", from)
	}
	if _, err := os.Lstat(from); err != nil {
		return fmt.Errorf("no saved node is there, as csi-proxyctl node save makes them: %w", err)
	}
	if !Exists(from) {
		return errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "%s is not a saved node", from)
	}
	lock, err := hostfiles.LockDir(from) // it may be the state directory of a node that runs
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := checkParts(from); err != nil {
		return err
	}
	s, err := loadState(from)
	if err != nil {
		return err
	}
	to, saved := filepath.Join(n.dir, restoringDir), &Node{dir: from, host: n.host}
	if err := n.host.RemoveAll(to); err != nil { // an earlier one
		return err
	}
	if err := saved.copyTo(to, s); err != nil {
		return err
	}
	tried, err := Open(to, Options{Before: n.host.Before, copied: true})
	if err == nil {
		err = tried.Close()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s is not a whole saved node: %w", from, err), n.host.RemoveAll(to))
	}
	return nil
}

// Restore makes the node what PrepareRestore copied. Open handles die. Bundles that were attached are detached; what
// else was in the state directory is gone, the detached disks too.
func (n *Node) Restore() error {
	defer n.control()()
	err := n.host.Rename(filepath.Join(n.dir, restoringDir), filepath.Join(n.dir, restoredDir))
	if err != nil {
		return err
	}
	return errors.Join(n.putDown(), n.start(Options{}))
}

// finishRestore moves the parts of a restored node to the places of the node's, unless they are there already.
func (n *Node) finishRestore() error {
	restored := filepath.Join(n.dir, restoredDir)
	for _, name := range append(stateDirs(), stateFile) {
		from, to := filepath.Join(restored, name), filepath.Join(n.dir, name)
		if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := n.host.RemoveAll(to); err != nil {
			return err
		}
		if err := n.host.Rename(from, to); err != nil {
			return err
		}
	}
	return errors.Join(n.host.RemoveAll(restored), n.host.RemoveAll(filepath.Join(n.dir, restoringDir)))
}
