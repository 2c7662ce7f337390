// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// repair makes whole, before a call, what a failure of the host left half done: the disk was full, read-only or broken,
// or the process had too many files open. It does at once what a start would do. A call can be answered only when
// nothing is half done that its answer could depend on; the rest is tried again before each call.
func (n *Node) repair() error {
	if n.restoring {
		return n.becomeRestored()
	}
	if !n.host.failed || n.disks == nil {
		return nil
	}
	if err := n.host.syncAgain(); err != nil {
		return err
	}
	for _, d := range n.disks {
		if d.image.half {
			if err := d.refresh(); err != nil {
				return err
			}
		}
	}
	n.retireGone()
	n.host.failed = false
	err := n.host.saveState(n.dir, n.state)
	if err == nil {
		err = n.tidy()
	}
	if errors.Is(err, errNotDurable) {
		return err
	}
	return nil
}

// tidy makes the moves that are due, and removes leftovers: temporary files that were not renamed, bundles that were
// only begun, and volume contents that were being deleted.
func (n *Node) tidy() error {
	for _, name := range []string{creatingFile, creatingFile + newSuffix, stateFile + newSuffix} {
		if err := removeIfThere(filepath.Join(n.dir, name)); err != nil {
			return n.host.noted(err)
		}
	}
	for _, name := range []string{disksDir, detachedDir, volumesDir} {
		if err := n.host.mkdirAll(filepath.Join(n.dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := n.finishMoves(); err != nil {
		return err
	}
	for _, dir := range []string{disksDir, detachedDir} {
		files, err := os.ReadDir(filepath.Join(n.dir, dir))
		if err != nil {
			return n.host.noted(err)
		}
		for _, file := range files {
			if n.isLeftover(dir, file.Name()) {
				if err := n.host.removeAll(filepath.Join(n.dir, dir, file.Name())); err != nil {
					return err
				}
			}
		}
	}
	return n.host.removeDropped(n.dir)
}

// removeDropped removes the volume contents that were being deleted, of a state directory or a bundle.
func (h *host) removeDropped(dir string) error {
	volumes, err := openVolumes(filepath.Join(dir, volumesDir))
	if err != nil {
		return h.noted(err)
	}
	defer volumes.Close()
	return h.noted(everyName(volumes, func(name string) error {
		if strings.HasPrefix(name, droppedPrefix) {
			return h.removeAllIn(volumes, name)
		}
		return nil
	}))
}

// isLeftover reports whether a file among the disks or the detached ones is of no use: its change ended early.
func (n *Node) isLeftover(dir, name string) bool {
	if dir == disksDir {
		image, isJournal := strings.CutSuffix(name, journalName)
		_, err := os.Lstat(imagePath(n.dir, image))
		return strings.HasSuffix(name, newSuffix) || isJournal && errors.Is(err, os.ErrNotExist)
	}
	image, isBundle := strings.CutSuffix(name, bundleSuffix)
	own := n.state.disk(image)
	return strings.HasSuffix(name, bundleSuffix+newSuffix) || isBundle && own != nil && own.Bundle == ""
}

func detachedPath(dir, name string) string { return filepath.Join(dir, detachedDir, name+imageSuffix) }

// fileMove is a file or directory that gets another place. From the moment when node.json has it, the move is made,
// whatever ends the process: before the next call, or at the next start. So it finishes a change of which node.json has
// the result, or undoes one of which it has not.
type fileMove struct {
	From string `json:"from"`            // in the state directory, or an absolute path
	To   string `json:"to,omitempty"`    // likewise; empty: it is removed
	Size int64  `json:"bytes,omitempty"` // of a file there; 0: its own
}

// dropMoves removes the moves that a change no longer needs.
func (s *state) dropMoves(done []fileMove) {
	s.Moves = slices.DeleteFunc(s.Moves, func(m fileMove) bool { return slices.Contains(done, m) })
}

// finishMoves makes the moves that node.json has. It may have made some of them before.
func (n *Node) finishMoves() error {
	moves := slices.Clone(n.state.Moves)
	for _, m := range moves {
		if err := n.host.place(n.dir, m); err != nil {
			return m.later(n.dir, err)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	return n.follow(nil, func(s *state) { s.dropMoves(moves) })
}

// later returns the error for which a move was not made yet.
func (m fileMove) later(dir string, err error) error {
	if m.To == "" {
		return err
	}
	return fmt.Errorf("%w; %s goes to %s when the host recovers or the node starts again", err, within(dir, m.From),
		within(dir, m.To))
}

// place makes a move. It replaces directories. A file whose place has been taken goes to the detached images.
func (h *host) place(dir string, m fileMove) error {
	from, to := within(dir, m.From), within(dir, m.To)
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return h.noted(err)
	}
	if m.To == "" {
		return h.remove(from)
	}
	if image, ok := strings.CutSuffix(filepath.Base(from), imageSuffix); ok { // only a complete image goes anywhere
		if err := h.complete(dir, image); err != nil {
			return err
		}
	}
	there, err := os.Lstat(to)
	switch {
	case err == nil && there.IsDir():
		err = h.removeAll(to)
	case err == nil:
		to = filepath.Join(dir, detachedDir, filepath.Base(from))
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return h.noted(err)
	}
	if m.Size > 0 {
		if err := h.resize(from, m.Size); err != nil {
			return err
		}
	}
	return h.rename(from, to)
}

// complete finishes a change of an image that nothing has open.
func (h *host) complete(dir, name string) error {
	im, err := h.openImage(dir, name, "")
	if err != nil {
		return err
	}
	return im.file.Close()
}

// within returns the host's path of one that may be relative to a directory.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
