// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// Options are how a node is opened.
type Options struct {
	// Scenario describes a new node; nil is DefaultScenario. An existing node stays as it is.
	Scenario *Scenario

	// Switches replace those of the scenario. They, too, apply only to a new node.
	Switches *Switches

	// NoSync lets the host decide when changes reach its disk. The node still survives the death of its process at any
	// point, but not that of the host. It is for tests, where it saves most of the time.
	NoSync bool

	// before is called before each change of the state directory, for tests.
	before func(change, path string) error
}

// Exists reports whether a state directory holds a node, even a damaged one, so that Open would not make a new one.
func Exists(stateDir string) bool {
	_, err := os.Lstat(filepath.Join(stateDir, creatingFile))
	return errors.Is(err, os.ErrNotExist) && holdsNode(stateDir)
}

func holdsNode(dir string) bool {
	for _, name := range []string{stateFile, disksDir, detachedDir, volumesDir} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return true
		}
	}
	return false
}

// Open starts the node of a state directory, or makes a new one in an empty or missing directory. It finishes changes
// that a death of the process interrupted. Errors: *InUseError, *DamagedStateError, or those of the host.
func Open(stateDir string, o Options) (*Node, error) {
	dir, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	n := &Node{
		dir: dir, host: &host{before: o.before, noSync: o.NoSync}, lock: lock,
		disks: map[uint32]*disk{}, contents: map[string]*content{}, steps: map[string]int{}, arriving: map[uint64]int{},
		online: map[guid.GUID]bool{}, privileges: map[string]bool{},
	}
	if err := n.start(o); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) start(o Options) error {
	if err := n.host.finishRestore(n.dir); err != nil {
		return err
	}
	s, err := loadState(n.dir)
	if errors.Is(err, os.ErrNotExist) {
		s, err = n.host.createNew(n.dir, o)
	}
	if err != nil {
		return err
	}
	return n.run(s)
}

// run runs the node of a state.
func (n *Node) run(s state) error {
	n.state = s
	if err := n.host.tidy(n.dir, s); err != nil {
		return err
	}
	for _, record := range s.Disks {
		d, err := n.startDisk(record)
		if err != nil {
			return err
		}
		n.disks[record.Number] = d
	}
	return n.repairMounts()
}

// createNew makes a new node, unless the directory has parts of a node whose node.json is lost.
func (h *host) createNew(dir string, o Options) (state, error) {
	if Exists(dir) {
		return state{}, &DamagedStateError{filepath.Join(dir, stateFile), "it is missing, while disks and volumes are there",
			"restore the file from a copy, or start with an empty state directory"}
	}
	s := DefaultScenario()
	if o.Scenario != nil {
		s = *o.Scenario
	}
	if o.Switches != nil {
		s.Switches = *o.Switches
	}
	return h.create(dir, s)
}

// tidy removes leftovers: temporary files that were not renamed, and volume contents that were being deleted. An image
// that belongs to no disk is moved to the detached ones.
func (h *host) tidy(dir string, s state) error {
	for _, name := range []string{creatingFile, creatingFile + ".new", stateFile + ".new"} {
		if err := removeIfThere(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{disksDir, detachedDir, volumesDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := h.tidyBundles(dir, s); err != nil {
		return err
	}
	images, err := os.ReadDir(filepath.Join(dir, disksDir))
	if err != nil {
		return err
	}
	for _, file := range images {
		name, isImage := strings.CutSuffix(file.Name(), imageSuffix)
		if isImage && s.disk(name) == nil {
			if err := h.rename(imagePath(dir, name), detachedPath(dir, name)); err != nil {
				return err
			}
		}
	}
	return h.removeDropped(dir)
}

// removeDropped removes the volume contents that were being deleted, of a state directory or a bundle.
func (h *host) removeDropped(dir string) error {
	contents, err := os.ReadDir(filepath.Join(dir, volumesDir))
	if err != nil {
		return err
	}
	for _, file := range contents {
		if strings.HasPrefix(file.Name(), droppedPrefix) {
			if err := h.removeAll(filepath.Join(dir, volumesDir, file.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func detachedPath(dir, name string) string { return filepath.Join(dir, detachedDir, name+imageSuffix) }
