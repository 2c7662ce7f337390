// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// Options are how a node is opened.
type Options struct {
	// Scenario describes a new node, and was checked; nil is scenario.Default. An existing node stays as it is.
	Scenario *scenario.Scenario

	// Before is called before each change of the state directory with its kind and path, for tests. Its error replaces
	// the change.
	Before func(change, path string) error

	copied bool // refuse a node that lacks directories which its copy must have
}

// Exists reports whether a state directory holds a node, even a damaged one, so that Open would not make a new one.
func Exists(stateDir string) bool {
	return slices.ContainsFunc([]string{stateFile, bundle.DisksDir, restoredDir}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(stateDir, name))
		return !errors.Is(err, os.ErrNotExist)
	})
}

// Open starts the node of a state directory, or makes a new one in an empty or missing directory. It fails while
// another process runs the node. A *hostfiles.DamagedError says what cannot be used.
func Open(stateDir string, o Options) (*Node, error) {
	dir, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, err
	}
	h := &hostfiles.Host{Before: o.Before}
	if err := h.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the state directory %s cannot be made; give another one (-state-dir): %w", dir, err)
	}
	lock, err := hostfiles.LockDir(dir)
	if err != nil {
		return nil, err
	}
	n := &Node{
		dir: dir, host: h, lock: lock,
		contents: contents{}, online: map[guid.GUID]bool{}, arriving: map[uint64]int{}, privileges: map[string]bool{},
		hastened: make(chan struct{}),
	}
	if err := n.start(o); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// start starts the node.
func (n *Node) start(o Options) error {
	if err := errors.Join(checkParts(n.dir), n.finishRestore()); err != nil {
		return err
	}
	s, err := loadState(n.dir)
	if errors.Is(err, os.ErrNotExist) {
		if err = n.createNew(o); err == nil {
			s, err = loadState(n.dir)
		}
	}
	if err != nil {
		return err
	}
	n.state, n.disks = s, disks{}
	for i, record := range n.state.Disks {
		d, err := n.startDisk(record)
		if err != nil {
			return err
		}
		clear(d.late)
		n.disks[record.Number], n.state.Disks[i] = d, d.record
	}
	if o.copied {
		if err := n.checkWhole(); err != nil {
			return err
		}
	}
	return n.repairMounts()
}

// checkWhole refuses a node that lacks the directory of drive C, of a mounted volume or of a share. Others are made at
// their first use.
func (n *Node) checkWhole() error {
	ids, paths := []guid.GUID{}, []string{}
	if c := n.state.letter("C"); c != nil {
		ids = append(ids, c.Volume)
	}
	for _, m := range n.state.Mounts {
		ids = append(ids, m.Volume)
	}
	for _, id := range ids {
		if v := n.disks.volume(id); v != nil && v.formatted() {
			paths = append(paths, v.disk.image.Files(id))
		}
	}
	for _, server := range n.state.SMB.Servers {
		for _, share := range server.Shares {
			paths = append(paths, smb.SharePath(n.dir, server.Name, share.Name))
		}
	}
	for _, path := range paths {
		if info, err := os.Lstat(path); err != nil || !info.IsDir() {
			return hostfiles.Damaged(path, "the directory of files is missing", "copy the saved node again")
		}
	}
	return nil
}

// checkParts refuses a node parts of which are links: it would live in the directories of others.
func checkParts(dir string) error {
	for _, pattern := range []string{
		restoredDir, restoredDir + "/*",
		bundle.DisksDir, bundle.DisksDir + "/*", bundle.DisksDir + "/*/*", bundle.DisksDir + "/*/" + bundle.VolumesDir + "/*",
		smb.SharesDir, smb.SharesDir + "/*", smb.SharesDir + "/*/*", RecordsDir, RecordsDir + "/*",
	} {
		names, _ := fs.Glob(os.DirFS(dir), pattern) // fails for an invalid pattern only
		for _, name := range names {
			path := filepath.Join(dir, name)
			info, err := os.Lstat(path)
			switch {
			case errors.Is(err, os.ErrNotExist): // a file of the agent's records that has just been replaced
			case err != nil:
				return err
			case !info.IsDir() && !info.Mode().IsRegular():
				return hostfiles.Damaged(path, "it is a link or another thing that no node has",
					"put the file or directory itself in its place")
			}
		}
	}
	return nil
}

// createNew makes a new node beside its place, and puts it there as one that is restored. A directory that has parts of
// a node whose node.json is lost is left as it is.
func (n *Node) createNew(o Options) error {
	if Exists(n.dir) {
		return hostfiles.Damaged(filepath.Join(n.dir, stateFile), "it is missing, while disks and volumes are there",
			"restore the file from a copy, or start with an empty state directory")
	}
	s := scenario.Default()
	if o.Scenario != nil {
		s = *o.Scenario
	}
	made := filepath.Join(n.dir, restoringDir)
	if err := create(n.host, made, s); err != nil {
		return err
	}
	if err := n.host.Rename(made, filepath.Join(n.dir, restoredDir)); err != nil {
		return err
	}
	return n.finishRestore()
}

// create makes the node of a scenario, which was checked, in a new directory.
func create(h *hostfiles.Host, dir string, s scenario.Scenario) error {
	disks, err := s.Records()
	if err != nil {
		return err
	}
	boot := 1 + slices.IndexFunc(disks[1:], func(d bundle.Record) bool { return d.Boot })
	made := state{
		Surroundings: Surroundings{s.Switches, services.New(s.Services), smb.NewState(s.SMBServers, s.SMBUsers),
			iscsi.NewState(s.ISCSI)},
		SystemSerial: s.SystemSerial, Adapters: s.Adapters, PageFiles: s.PageFiles, DumpFile: s.DumpFile,
		Disks: disks, BootImage: disks[boot].Image, // else of the system disk
	}
	for _, name := range stateDirs() {
		if err := h.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
	}
	for _, record := range disks {
		id, err := bundle.Make(h, record.Home(dir), record, false)
		if err != nil {
			return fmt.Errorf("disk %d: %w", record.Number, err)
		}
		if record.Letter != "" {
			made.Letters = append(made.Letters, letterState{Letter: record.Letter, Volume: id})
		}
	}
	c := bundle.FilesPath(disks[0].Home(dir), made.Letters[0].Volume)
	for _, path := range s.Directories {
		names, _ := scenario.DirectoryOnC(path) // the check found them valid
		if err := h.MkdirAll(filepath.Join(c, filepath.Join(names...)), 0o755); err != nil {
			return err
		}
	}
	if err := smb.CreateShares(h, dir, made.SMB); err != nil {
		return err
	}
	return saveState(h, dir, made)
}
