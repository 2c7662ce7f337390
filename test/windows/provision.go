// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
)

// provision makes a thing until the test ends: it is noted, made and, in the end, removed and struck out. The function
// do puts what it learns about the thing into the entry. A thing that was made in part is removed at once.
func provision(t testing.TB, e Entry, do func(e *Entry) error) error {
	t.Helper()
	l, err := inherited()
	if err != nil {
		return err
	}
	if e, err = l.Note(e); err != nil {
		return err
	}
	gone := false
	remove := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // the test's own context may have ended
		defer cancel()
		gone = true
		return l.remove(ctx, e)
	}
	t.Cleanup(func() { // also if the test ends while the thing is made
		if gone {
			return
		}
		if err := remove(); err != nil {
			t.Errorf("left on this machine: %v", err)
		}
	})
	noted := e
	err = do(&e)
	if err == nil && e != noted {
		_, err = l.Note(e)
	}
	if err != nil {
		return errors.Join(err, remove())
	}
	return nil
}

// MakeDirectory makes a directory and its missing parents until the test ends, when it removes the directory with all
// that is in it, and those parents in which there is nothing else. Directories that exist stay.
func MakeDirectory(t testing.TB, path string) error {
	t.Helper()
	return makeMissing(path, func(at string, do func(e *Entry) error) error {
		return provision(t, Entry{Kind: KindDirectory, Name: at}, do)
	})
}

// MakeDirectory does the same until Clean.
func (l *Ledger) MakeDirectory(path string) error {
	return makeMissing(path, func(at string, do func(e *Entry) error) error {
		e, err := l.Note(Entry{Kind: KindDirectory, Name: at})
		if err == nil {
			err = do(&e)
		}
		if err == nil && e.Mark != "" {
			_, err = l.Note(e)
		}
		return err
	})
}

// makeMissing makes a directory and its missing parents. The function noted notes one of them before it is made, and
// what is known of it afterwards.
func makeMissing(path string, noted func(at string, do func(e *Entry) error) error) error {
	var missing []string
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		_, err := os.Lstat(at)
		if err == nil {
			if err := noLinkAbove(at); err != nil {
				return err
			}
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return err
		}
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		err := noted(at, func(e *Entry) (err error) {
			// Only administrators may put a link there; by default all users may below C:\.
			if err := fileowner.MakeDirectory(at); err != nil {
				return err
			}
			if at == missing[0] {
				e.Mark, err = identity(at)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noLinkAbove returns an error if an existing directory or one above it leads elsewhere: the tests, run as an
// administrator, would write where another user chose.
func noLinkAbove(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		link, err := fileowner.IsLink(at)
		if err != nil {
			return err
		}
		if link {
			return Unavailable(at + " is a link or mount point")
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// removeDirectory removes a directory that was made, with what is in it if that is the tests' alone. Otherwise one with
// content stays: by now it may be the kubelet's of a node.
func removeDirectory(ctx context.Context, e Entry) error {
	if _, err := identity(e.Name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if e.Mark != "" {
		return RemoveTree(ctx, e.Name, e.Mark)
	}
	entries, err := os.ReadDir(e.Name) // a parent, or one whose maker was stopped
	if err != nil || len(entries) > 0 {
		return err
	}
	return removeEmpty(e.Name, "")
}

// removeDiskFile pulls a virtual disk and removes its file.
func removeDiskFile(ctx context.Context, e Entry) error {
	if !isRandom(filepath.Base(e.Name), diskFileEnding) {
		return NotOurs("its name is not a random one")
	}
	if _, err := os.Lstat(e.Name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	pulled := pull(ctx, e.Name)
	if err := machine.Retry(ctx, func() error { return os.Remove(e.Name) }); err != nil {
		return errors.Join(pulled, err)
	}
	return nil
}

const diskFileEnding = ".vhdx"
