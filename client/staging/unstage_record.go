// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A leaving is the record of a volume while it is unstaged. Between the unmounting and the disk's going offline,
// nothing else on the node says which disk that is.
type leaving struct {
	Volume string
	Target string // the path at which it was mounted
}

// leavingSuffix is that of the file about a leaving, which the records of shares pass over.
const leavingSuffix = ".leaving"

// unmountDevice is Mounter.UnmountDevice. It finishes what an earlier call at the path had begun.
func (s *Shares) unmountDevice(ctx context.Context, target string) error {
	target = windowsPath(target)
	file := s.records.path(target, leavingSuffix)
	before, err := s.records.leaving(ctx, file)
	if err != nil {
		return err
	}
	mounted, err := s.mounter.mountedAt(ctx, target)
	if err != nil {
		return err
	}
	if before != "" && before != mounted {
		if err := s.mounter.takeOffline(ctx, before); err != nil {
			return err
		}
		if err := s.records.removeFile(ctx, file); err != nil {
			return err
		}
	}
	if mounted == "" {
		return s.mounter.UnmountDevice(ctx, target)
	}
	if err := s.records.put(ctx, file, leaving{mounted, target}); err != nil {
		return err
	}
	if err := s.mounter.UnmountDevice(ctx, target); err != nil {
		return err
	}
	return s.records.removeFile(ctx, file)
}

// mountedAt returns the volume that is mounted at a path itself, and at no end of a link; "" if there is none, or none
// that answers.
func (m *Mounter) mountedAt(ctx context.Context, target string) (string, error) {
	if m.agent.MountPoints == nil { // a driver knows its disk: see UnstageDisk
		return "", nil
	}
	volume, err := m.volumeAt(ctx, target)
	if err != nil {
		return "", nil //nolint:nilerr // UnmountDevice asks again
	}
	paths, err := m.agent.MountPoints(ctx, volume)
	if slices.ContainsFunc(paths, func(p string) bool { return strings.EqualFold(strings.TrimRight(p, `\`), target) }) {
		return volume, nil
	}
	return "", err
}

// leaving returns the volume that a file records as being unstaged, or "" if there is no such file.
func (r records) leaving(ctx context.Context, file string) (string, error) {
	var l leaving
	err := r.lockedAll(ctx, func() error {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		err = fmt.Errorf("the record %s of a volume that is being unstaged cannot be read; remove it, and take the disk "+
			"offline: %w", file, err)
	}
	return l.Volume, err
}
