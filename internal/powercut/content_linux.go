// SPDX-License-Identifier: Apache-2.0

package powercut

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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
