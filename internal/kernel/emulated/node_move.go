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
	im, err := h.openImage(dir, name)
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
