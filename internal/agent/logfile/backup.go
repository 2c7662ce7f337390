// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stamp is the layout of the time, in UTC, at which a file was set aside, in its name. Sorting names sorts times.
const stamp = "20060102T150405.000"

// backupName returns the name of a log file that is set aside, such as csi-proxy-20260102T150405.000.log.
func backupName(name string, t time.Time) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + t.UTC().Format(stamp) + ext
}

// backupTime returns the time in the name other of a file in the same directory, if it is an old file of the log name.
func backupTime(name, other string) (t time.Time, ok bool) {
	ext := filepath.Ext(name)
	rest, ok := strings.CutPrefix(other, strings.TrimSuffix(name, ext)+"-")
	if !ok {
		return t, false
	}
	text, ok := strings.CutSuffix(rest, ext)
	if !ok {
		return t, false
	}
	t, err := time.Parse(stamp, text)
	return t, err == nil && backupName(name, t) == other
}

// replace sets the file aside and begins a new one. A file that cannot be renamed is written on.
func (f *File) replace(now time.Time) {
	_ = f.shut() // Windows does not rename an open file
	if err := os.Rename(f.path, f.freeBackup(now)); err != nil {
		f.after = now.Add(renameRetryInterval)
	}
	if err := f.open(now); err != nil {
		return // Write tries again, and counts the lines that are lost meanwhile
	}
	f.prune()
}

// freeBackup returns a path that no file has, and that sorts behind the older ones even when the clock went back.
func (f *File) freeBackup(now time.Time) string {
	t := now
	if !t.After(f.newest) {
		t = f.newest.Add(time.Millisecond)
	}
	for ; ; t = t.Add(time.Millisecond) {
		path := filepath.Join(filepath.Dir(f.path), backupName(filepath.Base(f.path), t))
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
}

// prune removes the oldest files above the limit. One that a reader holds open is tried again at the next replacement.
func (f *File) prune() {
	dir := filepath.Dir(f.path)
	entries, err := os.ReadDir(dir) // sorted by name, and so by time
	if err != nil {
		return
	}
	var (
		backups []fs.FileInfo
		total   int64
	)
	for _, entry := range entries {
		t, ok := backupTime(filepath.Base(f.path), entry.Name())
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		if info, err := entry.Info(); err == nil {
			backups = append(backups, info)
			total += info.Size()
			f.newest = t
		}
	}
	for len(backups) > 0 {
		tooMany := f.options.Backups > 0 && len(backups) > f.options.Backups
		tooLarge := f.options.BackupBytes > 0 && total > f.options.BackupBytes && len(backups) > 1
		if !tooMany && !tooLarge {
			return
		}
		_ = os.Remove(filepath.Join(dir, backups[0].Name()))
		total -= backups[0].Size()
		backups = backups[1:]
	}
}
