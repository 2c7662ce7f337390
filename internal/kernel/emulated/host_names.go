// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
)

// errNotDurable means that a change was made, but that the host failed to make it durable. Until it has, every kernel
// call fails: none may answer with what the host may never keep.
var errNotDurable = errors.New("the host failed to make it durable")

// changeNames changes the names in a directory and makes the change durable.
func (h *host) changeNames(change string, dir *os.Root, path string, do func() error) error {
	return h.change(change, dir, ".", path, do)
}

// change makes a change and makes it durable by something in a directory, the directory itself with the name ".". What
// cannot be made durable later, because it cannot be opened, is not changed at all.
func (h *host) change(change string, dir *os.Root, name, path string, do func() error) error {
	if err := h.step(change, path); err != nil {
		return err
	}
	f, err := openIn(dir, name)
	if err != nil {
		return h.noted(err)
	}
	if err := do(); err != nil {
		return errors.Join(h.noted(err), f.Close())
	}
	if err := h.syncNames(f); err != nil {
		h.unsynced = append(h.unsynced, f)
		return fmt.Errorf("%w: %w", errNotDurable, err)
	}
	return f.Close()
}

// syncNames makes the names in a directory durable, or of a file what is not its content.
func (h *host) syncNames(names *os.File) error {
	return h.durable("syncdir", names, func() error { return syncDir(names) })
}

// syncAgain makes durable what could not be made durable before.
func (h *host) syncAgain() error {
	for len(h.unsynced) > 0 {
		names := h.unsynced[0]
		if err := h.syncNames(names); err != nil {
			return err
		}
		h.unsynced = h.unsynced[1:]
		_ = names.Close() // a directory handle holds no data
	}
	return nil
}

// forget closes the directories that are not durable, at the end of the node.
func (h *host) forget() {
	for _, names := range h.unsynced {
		_ = names.Close()
	}
	h.unsynced = nil
}

// syncAll makes everything in the state directory durable, files of other processes too.
func (h *host) syncAll(inDir *os.File) error {
	return h.durable("syncall", inDir, func() error { return syncFileSystem(inDir) })
}
