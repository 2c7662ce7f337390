// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A bundle is a disk outside a node, as a cloud keeps it: a directory with the disk's bytes, its identity and the files
// of its volumes. A node uses an attached bundle where it lies and never moves it.
//
//	disk.img      the image
//	disk.json     what the disk says of itself
//	disk.journal  an unfinished change of the image, as of the node's own disks
//	volumes/GUID/ the files of a volume
//	attached.json the state directories of the nodes that have it attached
//	lock          held while a node attaches the bundle
//	lock.image    held while a node changes the image
const (
	bundleSuffix  = ".disk"
	bundleImage   = "disk.img"
	bundleFile    = "disk.json"
	bundleJournal = "disk.journal"
	bundleHolders = "attached.json"
	bundleLock    = "lock"
	imageLock     = "lock.image"
)

// bundleFormat is the version of disk.json that this program writes, and the newest that it reads.
const bundleFormat = 1

// maxBundleFile is more bytes than disk.json and attached.json have.
const maxBundleFile = 1 << 20

// bundleInfo is the content of disk.json.
type bundleInfo struct {
	Format       int         `json:"format"`
	SizeBytes    Size        `json:"sizeBytes"` // the image has at least as many
	SerialNumber string      `json:"serial"`
	Model        string      `json:"model,omitempty"`
	Identifiers  Identifiers `json:"identifiers,omitempty"`
	BusType      BusType     `json:"busType"`
	SectorSize   uint32      `json:"sectorSize"`
}

func newBundleInfo(r *diskState, sizeBytes int64) bundleInfo {
	return bundleInfo{
		Format: bundleFormat, SizeBytes: Size(sizeBytes), SerialNumber: r.SerialNumber, Model: r.Model,
		Identifiers: r.Identifiers, BusType: r.BusType, SectorSize: r.SectorSize,
	}
}

func (h *host) writeBundleInfo(home string, info bundleInfo) error {
	return h.writeJSON(filepath.Join(home, bundleFile), info)
}

// readBundleInfo reads disk.json. If it is missing, the error is os.ErrNotExist.
func readBundleInfo(home string) (info bundleInfo, err error) {
	err = readOwn(filepath.Join(home, bundleFile), maxBundleFile,
		"restore it from a copy, or attach "+bundleImage+" from another directory, without its files",
		func(text []byte) error {
			err := json.Unmarshal(text, &info)
			if err == nil && (info.Format < 1 || info.Format > bundleFormat) {
				err = fmt.Errorf("it has format %d; this program reads format %d", info.Format, bundleFormat)
			}
			return err
		})
	return info, err
}

// bundleAt returns the bundle that a path names: its directory, or the image in it.
func bundleAt(path string) (home string, ok bool) {
	if path == "" {
		return "", false
	}
	if filepath.Base(path) == bundleImage {
		path = filepath.Dir(path)
	}
	_, err := os.Lstat(filepath.Join(path, bundleFile))
	return path, err == nil
}

// complete fills in what a bundle says of its disk and the caller of AttachDisk leaves open.
func (info *bundleInfo) complete(spec *DiskSpec, home string) error {
	path := filepath.Join(home, bundleImage)
	image, err := os.Lstat(path)
	if err != nil {
		return err
	}
	size, problem := Size(image.Size()), ""
	switch {
	case !image.Mode().IsRegular():
		problem = "it is not a regular file"
	case size < info.SizeBytes:
		problem = fmt.Sprintf("it was cut off: it has %d bytes and had %d; restore it from a copy", size, info.SizeBytes)
	case spec.SizeBytes > size: // it may have grown since it was made
		problem = fmt.Sprintf("it has %d bytes, not %d", size, spec.SizeBytes)
	case bool(spec.Formatted):
		problem = "only a new disk can be formatted"
	case spec.SectorSize != 0 && spec.SectorSize != info.SectorSize:
		problem = fmt.Sprintf("it has sectors of %d bytes", info.SectorSize)
	}
	if problem != "" {
		return fmt.Errorf("%w: %s: %s", ErrInvalidSpec, path, problem)
	}
	spec.SizeBytes, spec.SectorSize = size, info.SectorSize
	spec.SerialNumber, spec.BusType = cmp.Or(spec.SerialNumber, info.SerialNumber), cmp.Or(spec.BusType, info.BusType)
	spec.Model = cmp.Or(spec.Model, info.Model)
	if len(spec.Identifiers) == 0 {
		spec.Identifiers = info.Identifiers
	}
	return nil
}

// createBundle makes a blank disk as a bundle. It appears under its name only when it is complete.
func (h *host) createBundle(home string, spec *DiskSpec) error {
	r, err := spec.record(nil, Switches{})
	if err != nil {
		return err
	}
	making := home + newSuffix
	for _, step := range []func() error{
		func() error { return h.removeAll(making) }, // an earlier try
		func() error { return h.mkdirAll(filepath.Join(making, volumesDir), 0o700) },
		func() error { return h.createImageAt(filepath.Join(making, bundleImage), int64(spec.SizeBytes)) },
		func() error { return h.writeBundleInfo(making, newBundleInfo(&r, int64(spec.SizeBytes))) },
		func() error { return h.rename(making, home) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// ErrAttachedElsewhere means that another node has a bundle attached.
var ErrAttachedElsewhere = errors.New("the disk is attached to another node")

// holders is the content of attached.json. It only says where to look: a node has a bundle attached if its node.json
// says so. So a detach changes nothing here, and nothing that a death leaves is ever wrong.
type holders struct {
	StateDirs []string `json:"stateDirs"`
}

// lockPatience is much longer than a node holds a lock of a bundle.
const lockPatience = 30 * time.Second

// awaitLock takes a lock of a bundle, which ends when the file is closed. It waits for other nodes, of this process
// too: they hold it for one change.
func awaitLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|notThroughALink|withoutWaiting, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(5 * time.Millisecond) {
		held, err := lockFile(f)
		switch {
		case err == nil && !held:
			return f, nil
		case err == nil && time.Now().Before(end):
			continue
		case err == nil:
			err = fmt.Errorf("another process has held it for %v; lsof shows which", lockPatience)
		}
		return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
}

// A lockedBundle is a bundle that no other node attaches before it is closed.
type lockedBundle struct {
	home   string
	lock   *os.File
	listed []string // in attached.json
	others []otherNode
	info   bundleInfo // read by findBundle
}

// otherNode is another node that has a bundle attached.
type otherNode struct {
	dir    string
	shares bool // it allows others to attach it as well
}

// lockBundle locks a bundle for the node of a state directory, and finds out which other nodes have it attached. A
// bundle may be on a file system that does not answer, so the caller holds no lock of the node.
func lockBundle(home, stateDir string) (_ *lockedBundle, err error) {
	b := &lockedBundle{home: home}
	if b.lock, err = awaitLock(filepath.Join(home, bundleLock)); err != nil {
		return nil, err
	}
	if err := b.findOthers(stateDir); err != nil {
		return nil, errors.Join(err, b.lock.Close())
	}
	return b, nil
}

func (b *lockedBundle) findOthers(stateDir string) error {
	volumes, err := openVolumes(filepath.Join(b.home, volumesDir))
	if err != nil {
		return err
	}
	_ = volumes.Close() // a directory handle holds no data
	if b.listed, err = readHolders(b.home); err != nil {
		return err
	}
	for _, dir := range b.listed {
		if dir == stateDir {
			continue
		}
		s, err := loadState(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err == nil && s.bundle(dir, b.home) != nil {
			b.others = append(b.others, otherNode{dir, s.Switches.MultiAttach})
		}
	}
	return nil
}

// claim notes in a bundle that this node is about to have it attached, unless another node has it. Several may, if the
// switch MultiAttach is set on each.
func (n *Node) claim(b *lockedBundle) error {
	next := holders{StateDirs: []string{n.dir}}
	for _, other := range b.others {
		if !other.shares || !n.state.Switches.MultiAttach {
			return fmt.Errorf("%w: %s to the one in %s; detach it there, or set the switch multiAttach on both",
				ErrAttachedElsewhere, b.home, other.dir)
		}
		next.StateDirs = append(next.StateDirs, other.dir)
	}
	if len(next.StateDirs) == 1 {
		if err := n.host.removeDropped(b.home); err != nil {
			return err
		}
	}
	if slices.Equal(next.StateDirs, b.listed) {
		return nil
	}
	return n.host.writeJSON(filepath.Join(b.home, bundleHolders), next)
}

// bundle returns the record of the disk that is a bundle, nil if the node has not got it attached.
func (s *state) bundle(stateDir, home string) *diskState {
	return find(s.Disks, func(r *diskState) bool { return r.Bundle != "" && sameDir(r.home(stateDir), home) })
}

// sameDir reports whether two paths lead to one directory.
func sameDir(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// readHolders returns the state directories in attached.json.
func readHolders(home string) ([]string, error) {
	var list holders
	err := readOwn(filepath.Join(home, bundleHolders), maxBundleFile, "remove it if no node has the bundle attached",
		func(text []byte) error { return json.Unmarshal(text, &list) })
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return list.StateDirs, err
}

// home returns the directory of a disk that is a bundle; empty: the disk is the node's own.
func (r *diskState) home(stateDir string) string {
	if r.Bundle == "" {
		return ""
	}
	return within(stateDir, r.Bundle)
}
