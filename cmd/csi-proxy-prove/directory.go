// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/fileowner"
)

// prepare makes the directory of the kit's files, which only administrators may use: the kit starts programs from it.
// One that others could have filled is refused, and one that they can read is taken from them.
func prepare(base string) error {
	if err := makeBase(base); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	link, err := fileowner.IsLink(base)
	if err != nil {
		return err
	}
	if link {
		return fmt.Errorf("%s is a link: remove it", base)
	}
	who, err := writers(base)
	if err != nil {
		return fmt.Errorf("cannot read which accounts may change %s: %w", base, err)
	}
	if len(who) > 0 {
		return fmt.Errorf("%s can be changed by %s, and the kit starts programs from it as administrator: remove it", base,
			strings.Join(who, ", "))
	}
	return secure(base)
}

// tidy removes the ledger, of which nothing is left, the lock and the directory.
func tidy(base string) error {
	for _, name := range []string{ledgerOf(base), lockOf(base)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(base)
}

func ledgerOf(base string) string { return filepath.Join(base, "ledger.jsonl") }
func lockOf(base string) string   { return filepath.Join(base, "lock") }

// errLocked is that of a kit beside another one, whose things it would take for left ones.
var errLocked = errors.New("nothing was done: another csi-proxy-prove runs on this machine")
