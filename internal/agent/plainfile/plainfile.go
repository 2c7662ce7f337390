// SPDX-License-Identifier: Apache-2.0

// Package plainfile opens files that another user may have planted: only regular ones, without waiting or links.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The reasons why a file is refused, in an *fs.PathError.
var (
	ErrNotRegular = errors.New("it is a link, or not a regular file")
	ErrTooLong    = errors.New("it is too long")
)

// Open opens a regular file, with flags of os.OpenFile that create nothing. The path's directories may be links.
func Open(name string, flag int) (*os.File, error) { return Create(name, flag, 0) }

// Create is Open for flags that may make the file, with the permissions perm.
func Create(name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, flag|withoutWaiting, perm)
	if err != nil { // of a link or a socket, the system's reason says less
		if info, lstatErr := os.Lstat(name); lstatErr == nil && !info.Mode().IsRegular() {
			err = notRegular(name)
		}
		return nil, err
	}
	return Regular(f)
}

// Regular returns an open file that is a regular one, and closes another one.
func Regular(f *os.File) (*os.File, error) {
	regular, err := isRegular(f)
	if err == nil && !regular {
		err = notRegular(f.Name())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read returns the content of a regular file of at most limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: it has more than %d bytes", ErrTooLong, limit)}
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

func notRegular(name string) error { return &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular} }
