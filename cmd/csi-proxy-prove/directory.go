// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
)

// prepare makes the directory of the kit's files, which only administrators may use: the kit starts programs from it.
// One that others could have filled is refused.
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
	owner, err := writers(base)
	if err != nil {
		return fmt.Errorf("cannot read which accounts may change %s: %w", base, err)
	}
	if len(owner) > 0 {
		return fmt.Errorf("%s can be changed by %s, and the kit starts programs from it as administrator: remove it", base,
			strings.Join(owner, ", "))
	}
	return nil
}

func ledgerOf(base string) string { return filepath.Join(base, "ledger.jsonl") }

// errLocked is that of a kit beside another one, whose things it would take for left ones.
var errLocked = errors.New("nothing was done: another csi-proxy-prove runs on this machine")
