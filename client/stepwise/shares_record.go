// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/fold"
)

// A use is the record of a volume that uses a share.
type use struct {
	Remote string // \\server\share\dir
	Target string // the path of the link
}

// share returns the share of the remote path, \\server\share in lower case, by which Windows keeps mappings; "" if the
// path has none.
func (u use) share() string {
	parts := strings.Split(fold.Name(u.Remote), `\`)
	if len(parts) < 4 || parts[0] != "" || parts[1] != "" || parts[2] == "" || parts[3] == "" {
		return ""
	}
	return strings.Join(parts[:4], `\`)
}

// sameName reports whether two paths are the same name on NTFS.
func sameName(a, b string) bool { return fold.Name(a) == fold.Name(b) }

// records is a directory with a file for each target. A file is whole or not there at all, whenever the node stops.
type records struct{ dir string }

const suffix = ".json"

// path returns the path of the file about a target, or of the lock of a share.
func (r records) path(of, suffix string) string {
	sum := sha256.Sum256([]byte(fold.Name(of)))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:12])+suffix)
}

func (r records) read(ctx context.Context, target string) (u use, err error) {
	err = r.lockedAll(ctx, func() error {
		u, err = load(r.path(target, suffix))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return u, fmt.Errorf("%w: %s", ErrNotStaged, target)
	}
	return u, err
}

func loadJSON(file string, record any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, record)
}

func load(file string) (u use, err error) {
	if err = loadJSON(file, &u); err == nil && u.share() == "" {
		err = errors.New("it names no share")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the record %s of a staged share cannot be read; remove it if no pod uses the share: %w", file, err)
	}
	return u, err
}

// write makes the record of a use.
func (r records) write(ctx context.Context, u use) error {
	return r.put(ctx, r.path(u.Target, suffix), u)
}

// put makes a record, through a file of another name, which is flushed before it gets its own.
func (r records) put(ctx context.Context, file string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(r.dir, "new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return r.lockedAll(ctx, func() error { return os.Rename(f.Name(), file) })
}

func (r records) remove(ctx context.Context, target string) error {
	return r.removeFile(ctx, r.path(target, suffix))
}

func (r records) removeFile(ctx context.Context, file string) error {
	err := r.lockedAll(ctx, func() error { return os.Remove(file) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeShare removes the records of all users of a share.
func (r records) removeShare(ctx context.Context, share string) error {
	all, err := r.all(ctx)
	for _, u := range all {
		if u.share() == share {
			err = errors.Join(err, r.remove(ctx, u.Target))
		}
	}
	return err
}

func (r records) all(ctx context.Context) (all []use, err error) {
	err = r.lockedAll(ctx, func() error {
		files, err := os.ReadDir(r.dir) // and not a pattern: that passes over what cannot be read
		if err != nil {
			return err
		}
		for _, file := range files {
			if !strings.HasSuffix(file.Name(), suffix) {
				continue
			}
			u, err := load(filepath.Join(r.dir, file.Name()))
			if err != nil {
				return err
			}
			all = append(all, u)
		}
		return nil
	})
	return all, err
}

// lockedAll reads or writes records under the lock of all records: Windows neither removes nor replaces a file that is
// open.
func (r records) lockedAll(ctx context.Context, do func() error) error { return r.locked(ctx, "", do) }

// lockedPause is the pause between two tries to get a lock that another call or another driver has.
const lockedPause = 10 * time.Millisecond

// locked runs a function under the lock of a share, which all processes respect. The system releases the lock when a
// process ends.
func (r records) locked(ctx context.Context, share string, do func() error) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	for {
		unlock, err := tryLock(r.path(share, ".lock"))
		if err != nil {
			return err
		}
		if unlock != nil {
			err = do()
			unlock()
			return err
		}
		select {
		case <-time.After(lockedPause):
		case <-ctx.Done():
			return fmt.Errorf("waiting for another call that uses the records of shares in %s: %w", r.dir, ctx.Err())
		}
	}
}

// An unstageRecord is the record of a volume while it is unstaged. Between the unmounting and the disk's going offline,
// nothing else on the node says which disk that is.
type unstageRecord struct {
	Volume string
	Target string // the path at which it was mounted
}

// leavingSuffix is that of the file about a leaving, which the records of shares pass over.
const leavingSuffix = ".leaving"

// unmountDevice is Mounter.UnmountDevice. It finishes what an earlier call at the path had begun.
func (s *Shares) unmountDevice(ctx context.Context, target string) error {
	target = WindowsPath(target)
	file := s.records.path(target, leavingSuffix)
	before, err := s.records.unstageRecord(ctx, file)
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
	if err := s.records.put(ctx, file, unstageRecord{mounted, target}); err != nil {
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
	if slices.ContainsFunc(paths, func(p string) bool { return sameName(strings.TrimRight(p, `\`), target) }) {
		return volume, nil
	}
	return "", err
}

// unstageRecord returns the volume that a file records as being unstaged; without such a file, "".
func (r records) unstageRecord(ctx context.Context, file string) (string, error) {
	var l unstageRecord
	err := r.lockedAll(ctx, func() error { return loadJSON(file, &l) })
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		err = fmt.Errorf("the record %s of a volume that is being unstaged cannot be read; remove it, and take the disk "+
			"offline: %w", file, err)
	}
	return l.Volume, err
}
