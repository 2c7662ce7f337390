// SPDX-License-Identifier: Apache-2.0

package powercut

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Disk is what the host's disk holds for certain of a directory.
type Disk struct {
	// At is called before each operation, when what the one before made durable is known. Its error replaces the
	// operation.
	At func(change, path string) error

	t        testing.TB
	dir      string
	contents map[file]*content         // of files that were synced
	names    map[file]map[string]entry // in directories

	change, path string // under way
	looking      bool   // the power is cut
}

// file identifies a file of the host for good: a number alone is used again.
type file struct {
	inode uint64
	born  unix.StatxTimestamp
}

// entry is a name in a directory.
type entry struct {
	file file
	kind fs.FileMode // its type
}

// Watch returns the disk below a directory, all of which is durable.
func Watch(t testing.TB, dir string) *Disk {
	t.Helper()
	d := &Disk{t: t, dir: dir, contents: map[file]*content{}, names: map[file]map[string]entry{}}
	d.Sync()
	return d
}

// Before is told of each operation before it is made; it has the type of emulated.Options.Before.
func (d *Disk) Before(change, path string) error {
	if d.looking { // an operation of the node after the cut
		return nil
	}
	d.noteDurable()
	if d.At != nil {
		if err := d.At(change, path); err != nil {
			return err
		}
	}
	d.change, d.path = change, path
	return nil
}

// noteDurable notes what the last operation made durable.
func (d *Disk) noteDurable() {
	change := d.change
	d.change = ""
	switch change {
	case "sync", "syncdir":
		if id, ok := d.identify(d.path); ok && id.kind.IsDir() {
			d.saveNames(d.path)
		} else if ok {
			d.saveContent(d.path)
		}
	case "syncall":
		d.Sync()
	}
}

// Sync makes everything durable.
func (d *Disk) Sync() {
	d.check(filepath.WalkDir(d.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			d.saveNames(path)
		} else if entry.Type().IsRegular() {
			d.saveContent(path)
		}
		return nil
	}))
}

func (d *Disk) saveContent(path string) {
	if id, ok := d.identify(path); ok && id.kind.IsRegular() {
		d.contents[id.file] = d.read(path)
	}
}

// saveNames notes the names in a directory. A file that was moved here is gone from its old directory.
func (d *Disk) saveNames(path string) {
	dir, ok := d.identify(path)
	if !ok {
		return // it was removed meanwhile
	}
	now := d.list(path)
	for _, moved := range now {
		for _, elsewhere := range d.names {
			for name, old := range elsewhere {
				if old.file == moved.file {
					delete(elsewhere, name)
				}
			}
		}
	}
	d.names[dir.file] = now
}

// list returns the names in a directory as they are now.
func (d *Disk) list(path string) map[string]entry {
	entries, err := os.ReadDir(path)
	d.check(err)
	now := map[string]entry{}
	for _, e := range entries {
		if id, ok := d.identify(filepath.Join(path, e.Name())); ok {
			now[e.Name()] = id
		}
	}
	return now
}

// identify returns the file that has a path, if there is one.
func (d *Disk) identify(path string) (entry, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return entry{}, false
	}
	var stat unix.Statx_t
	d.check(unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &stat))
	return entry{file{stat.Ino, stat.Btime}, info.Mode().Type()}, true
}

// check reports a failure of the host, from whatever goroutine.
func (d *Disk) check(err error) {
	if err != nil {
		d.t.Errorf("the model of the host's disk: %v", err)
	}
}

const (
	page   = 4096
	sector = 512 // what a disk writes as a whole
)

// content is the content of a file. Pages of zeros are left out: images are sparse.
type content struct {
	size    int64
	pages   map[int64][]byte // by their offsets
	mode    fs.FileMode
	changed time.Time
}

// none is the content of a file that was never synced.
func none() *content { return &content{mode: 0o600} }

// at returns the page at an offset.
func (c *content) at(offset int64) []byte {
	if p := c.pages[offset]; p != nil {
		return p
	}
	return make([]byte, page)
}

func (d *Disk) read(path string) *content {
	f, err := os.Open(path)
	if err != nil {
		d.check(err)
		return none()
	}
	defer f.Close()
	info, err := f.Stat()
	d.check(err)
	c := &content{size: info.Size(), pages: map[int64][]byte{}, mode: info.Mode().Perm(), changed: info.ModTime()}
	for at := int64(0); ; {
		start, err := f.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, syscall.ENXIO) {
			return c // only a hole follows
		}
		d.check(err)
		at, err = f.Seek(start, unix.SEEK_HOLE)
		d.check(err)
		for start = start / page * page; start < at; start += page {
			p := make([]byte, page)
			if _, err := f.ReadAt(p, start); err != nil && !errors.Is(err, io.EOF) {
				d.check(err)
				return c
			}
			if !bytes.Equal(p, make([]byte, page)) {
				c.pages[start] = p
			}
		}
	}
}

// write makes a file with the content.
func (d *Disk) write(path string, c *content) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		d.check(err)
		return
	}
	d.check(f.Truncate(c.size))
	for offset, p := range c.pages {
		if offset < c.size {
			_, err := f.WriteAt(p[:min(page, c.size-offset)], offset)
			d.check(err)
		}
	}
	d.check(errors.Join(f.Chmod(c.mode), f.Close()))
	if !c.changed.IsZero() {
		d.check(os.Chtimes(path, c.changed, c.changed))
	}
}
