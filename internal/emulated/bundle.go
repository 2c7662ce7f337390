// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// Every disk of a node is a directory. One that says of itself what it is, as all that were detached do, is a bundle: a
// disk as a cloud keeps it. A node uses an attached bundle where it lies and never moves it.
//
//	disk.img      the image
//	disk.json     what the disk says of itself
//	volumes/GUID/ the files of a volume, as plain files
//	attached      the state directory of the node that has the bundle attached; locked while a node attaches it
const (
	bundleSuffix = ".disk"
	bundleImage  = "disk.img"
	bundleFile   = "disk.json"
	bundleHolder = "attached"
)

// bundleFormat is the version of disk.json that this program writes and reads.
const bundleFormat = 1

// maxBundleFile is more bytes than disk.json has.
const maxBundleFile = 1 << 20

// bundleInfo is the content of disk.json.
type bundleInfo struct {
	Format   int          `json:"format"`
	Size     setting.Size `json:"sizeBytes"` // the image has at least as many bytes
	DiskSpec              // its address is that of the last node
}

// writeBundleInfo makes the directory of a disk a bundle.
func writeBundleInfo(h *hostfiles.Host, home string, r *diskState, sizeBytes int64) error {
	return h.WriteJSON(filepath.Join(home, bundleFile), bundleInfo{bundleFormat, setting.Size(sizeBytes), r.DiskSpec})
}

// readBundleInfo reads disk.json. If it is missing, the error is os.ErrNotExist.
func readBundleInfo(home string) (info bundleInfo, err error) {
	err = hostfiles.ReadOwn(filepath.Join(home, bundleFile), maxBundleFile,
		"restore it from a copy, or attach "+bundleImage+" from another directory, without its files",
		func(text []byte) error {
			err := json.Unmarshal(text, &info)
			if err == nil && info.Format != bundleFormat {
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
	size, problem := setting.Size(image.Size()), ""
	switch {
	case !image.Mode().IsRegular():
		problem = "it is not a regular file"
	case size < info.Size:
		problem = fmt.Sprintf("it was cut off: it has %d bytes and had %d; restore it from a copy", size, info.Size)
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

// makeDisk makes the directory of a disk, apart from the node as a bundle. It appears under its name only when it is
// complete. The result is the volume of a disk that is formatted.
func makeDisk(h *hostfiles.Host, home string, r diskState, apart bool) (id guid.GUID, err error) {
	temporary := home + newSuffix
	if err := h.RemoveAll(temporary); err != nil { // an earlier try
		return id, err
	}
	if err := h.MkdirAll(filepath.Join(temporary, volumesDir), 0o700); err != nil {
		return id, err
	}
	if err := createImage(h, filepath.Join(temporary, bundleImage), r); err != nil {
		return id, err
	}
	if bool(r.Formatted) || r.System {
		if id, err = createFormattedDisk(h, temporary, r); err != nil {
			return id, err
		}
	}
	if apart {
		if err := writeBundleInfo(h, temporary, &r, int64(r.SizeBytes)); err != nil {
			return id, err
		}
	}
	return id, h.Rename(temporary, home)
}

// ErrAttachedElsewhere means that another node has a bundle attached.
var ErrAttachedElsewhere = errors.New("the disk is attached to another node")

// lockPatience is much longer than a node holds the lock of a bundle.
const lockPatience = 30 * time.Second

// awaitLock takes the lock of a bundle, which ends when the file is closed. It waits for other nodes, of this process
// too: they hold it while they attach the bundle.
func awaitLock(name string) (*os.File, error) {
	f, err := plainfile.Create(name, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, plainfile.ErrNotRegular) {
		return nil, hostfiles.Damaged(name, plainfile.ErrNotRegular.Error(), "remove it if no node has the bundle attached")
	} else if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(5 * time.Millisecond) {
		held, err := hostfiles.LockFile(f)
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

// A lockedBundle is a bundle that no other node attaches before its lock is closed.
type lockedBundle struct {
	home      string
	lock      *os.File
	noted     string     // the state directory of the node that attached it last
	elsewhere bool       // that is another node, which still has it attached
	info      bundleInfo // read by findBundle
}

// lockBundle locks a bundle for the node of a state directory, and finds out which other node has it attached. Its file
// only says where to look: a node has a bundle attached if its node.json says so. So a detach changes nothing here, and
// nothing that a death leaves is ever wrong. A bundle may be on a file system that does not answer, so the caller holds
// no lock of the node.
func lockBundle(home, stateDir string) (*lockedBundle, error) {
	lock, err := awaitLock(filepath.Join(home, bundleHolder))
	if err != nil {
		return nil, err
	}
	b := &lockedBundle{home: home, lock: lock}
	text, err := io.ReadAll(io.LimitReader(lock, maxBundleFile))
	b.noted, _, _ = strings.Cut(string(text), "\n")
	if err == nil && filepath.IsAbs(b.noted) && b.noted != stateDir {
		s, loadErr := loadState(b.noted)
		switch {
		case loadErr == nil:
			b.elsewhere = s.bundle(b.noted, home) != nil
		case !errors.Is(loadErr, os.ErrNotExist):
			err = loadErr
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return b, nil
}

// claim notes in a bundle that this node is about to have it attached, unless another node has it.
func (n *Node) claim(b *lockedBundle) error {
	if b.elsewhere {
		return fmt.Errorf("%w: %s to the one in %s; detach it there", ErrAttachedElsewhere, b.home, b.noted)
	}
	if b.noted == n.dir {
		return nil
	}
	return n.host.WriteAt(b.lock, []byte(n.dir+"\n"), 0)
}

// bundle returns the record of the disk that is a bundle, nil if the node has not got it attached.
func (s *state) bundle(stateDir, home string) *diskState {
	return find(s.Disks, func(r *diskState) bool { return sameDir(r.home(stateDir), home) })
}

// sameDir reports whether two paths lead to one directory.
func sameDir(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// diskHome returns where the directory of a new disk is in the state directory.
func diskHome(image string) string { return filepath.Join(disksDir, image+bundleSuffix) }

// home returns the directory of a disk.
func (r *diskState) home(stateDir string) string {
	home := cmp.Or(r.Bundle, diskHome(r.Image))
	if filepath.IsAbs(home) {
		return home
	}
	return filepath.Join(stateDir, home)
}

// findBundle locks the bundle that a disk is to be and reads it; nil if the disk is to be none. The caller holds no
// lock of the node.
func (n *Node) findBundle(spec *DiskSpec) (*lockedBundle, error) {
	home, ok := bundleAt(spec.ImagePath)
	if !ok && spec.BundlePath == "" {
		return nil, nil
	}
	home, err := n.bundleHome(cmp.Or(spec.BundlePath, home), spec)
	if err != nil {
		return nil, err
	}
	b, err := lockBundle(home, n.dir)
	if err != nil {
		return nil, err
	}
	if b.info, err = readBundleInfo(home); err != nil {
		return nil, errors.Join(err, b.lock.Close())
	}
	return b, nil
}

// bundleHome returns the directory of a bundle, and makes the bundle if the caller asks for that.
func (n *Node) bundleHome(path string, spec *DiskSpec) (string, error) {
	home, ok := bundleAt(path)
	if !ok {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%w: %s is not a bundle: it has no %s", ErrInvalidSpec, path, bundleFile)
		}
		if spec.SizeBytes == 0 {
			return "", &os.PathError{Op: "attach", Path: path, Err: os.ErrNotExist}
		}
		if home = path; !filepath.IsAbs(home) {
			return "", fmt.Errorf("%w: %s is not an absolute path", ErrInvalidSpec, path)
		}
		r, err := spec.record(nil, Switches{})
		if err != nil {
			return "", err
		}
		err = n.control(func() error {
			_, err := makeDisk(n.host, home, r, true)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return filepath.Abs(home)
}

// bundleName returns how node.json names a bundle: inside the state directory relative to it, so that the directory can
// be moved.
func (n *Node) bundleName(home string) string {
	if rest, ok := below(n.dir, home); ok {
		return rest
	}
	return home
}

// startDisk opens a disk of node.json. A bundle is claimed anew, as the state directory may have been moved.
func (n *Node) startDisk(record diskState) (*disk, error) {
	if record.Bundle == "" {
		return n.newDisk(record)
	}
	home := record.home(n.dir)
	b, err := lockBundle(home, n.dir)
	if damaged := new(*hostfiles.DamagedError); err != nil && !errors.As(err, damaged) {
		err = hostfiles.Damaged(home, err.Error(), "restore the bundle, or start with an empty state directory")
	}
	if err != nil {
		return nil, err
	}
	defer b.lock.Close()
	if err := n.claim(b); err != nil {
		return nil, err
	}
	return n.newDisk(record)
}
