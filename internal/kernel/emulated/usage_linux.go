// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// fileBytes is what the files of a volume occupy in clusters of a size. Drivers ask for the statistics of every volume
// again and again, and their files change without anybody telling the node. So this looks at all of them each time, but
// with the system calls that it needs and no more: os.Root would make three times as many.
func (c *content) fileBytes(cluster uint64) (uint64, error) {
	if c.dir == nil {
		dir, err := c.root.Open(".") // it stays open until the content is retired, and is not to be read: its position is everybody's
		if err != nil {
			return 0, err
		}
		c.dir = dir
	}
	conn, err := c.dir.SyscallConn()
	if err != nil {
		return 0, err
	}
	u := usage{cluster: cluster, buffer: make([]byte, 4096)}
	c.node.mu.Unlock()
	var walk error
	closed := conn.Control(func(fd uintptr) { walk = u.directory(int(fd), ".") })
	c.node.mu.Lock()
	if closed != nil {
		return 0, c.gone
	}
	return u.bytes, walk
}

// usage adds up the files of a directory tree.
type usage struct {
	cluster uint64
	bytes   uint64
	buffer  []byte // for the entries of one directory after the other
}

// directory adds the files of a directory and of those below. It follows no link, and opens nothing but directories.
// What is deleted or replaced meanwhile does not count.
func (u *usage) directory(parent int, name string) error {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return unlessGone(err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var below []string
	for {
		n, err := unix.Getdents(fd, u.buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return unlessGone(err)
		}
		if n <= 0 {
			break
		}
		for rest := u.buffer[:n]; len(rest) > 0; {
			var entry hostEntry
			if entry, rest, err = nextEntry(rest); err != nil {
				return err
			}
			isDir, err := u.entry(fd, entry)
			if err != nil {
				return err
			}
			if isDir {
				below = append(below, string(entry.name))
			}
		}
	}
	for _, name := range below {
		if err := u.directory(fd, name); err != nil {
			return err
		}
	}
	return nil
}

// entry adds a file, or tells that the entry is a directory to look into.
func (u *usage) entry(dir int, e hostEntry) (isDir bool, err error) {
	name := string(e.name)
	switch e.kind {
	case unix.DT_DIR:
		return name != "." && name != "..", nil
	case unix.DT_REG, unix.DT_UNKNOWN: // some file systems leave it to stat
	default:
		return false, nil
	}
	var stat unix.Stat_t
	if err := unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, unlessGone(err)
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return name != "." && name != "..", nil
	case unix.S_IFREG:
		if !isReserved(name) {
			u.bytes += (uint64(stat.Size) + u.cluster - 1) / u.cluster * u.cluster
		}
	}
	return false, nil
}

// unlessGone drops the errors of what is not there any more, or is no directory any more.
func unlessGone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

// hostEntry is one entry of a directory of the host.
type hostEntry struct {
	kind byte // DT_REG and so on
	name []byte
}

var errDirent = errors.New("the host lists a directory in an unknown format")

// nextEntry reads a struct linux_dirent64: inode and offset of 8 bytes, length of 2, type of 1, and a name with a NUL.
//
// https://man7.org/linux/man-pages/man2/getdents.2.html
func nextEntry(b []byte) (e hostEntry, rest []byte, err error) {
	const header = 8 + 8 + 2 + 1
	if len(b) < header {
		return e, nil, errDirent
	}
	size := int(binary.NativeEndian.Uint16(b[16:]))
	if size < header || size > len(b) {
		return e, nil, errDirent
	}
	name, _, ok := bytes.Cut(b[header:size], []byte{0})
	if !ok || len(name) == 0 {
		return e, nil, errDirent
	}
	return hostEntry{b[18], name}, b[size:], nil
}
