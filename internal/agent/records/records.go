// SPDX-License-Identifier: Apache-2.0

// Package records keeps, in a directory of the machine, what no mount point and no link of the node says: which targets
// use a share, and which volume is being unstaged. A record is a file, whole or not there at all whenever the machine
// stops. Several processes may have the directory in common.
package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A Use says that a link at a target leads to a share.
type Use struct {
	Remote string // \\server\share\dir
	Target string // the path of the link
}

// An Unstaging says that a volume is being unstaged from a target: between its unmounting and its disk's going offline,
// nothing else says which disk that is.
type Unstaging struct {
	Volume string
	Target string
}

// Dir is a directory of records. It is safe for concurrent use.
type Dir struct {
	path  string
	locks operation.KeyedLocks // of this process
}

// New returns the records in a directory, which is made with the first of them.
func New(path string) *Dir { return &Dir{path: path} }

// The ends of the files' names.
const (
	useSuffix       = ".json"
	unstagingSuffix = ".leaving"
	lockSuffix      = ".lock"
	newSuffix       = ".new"
)

// Limits of what is read.
const (
	maxRecord  = 64 << 10 // a remote path and a target are shorter
	maxRecords = 100_000
)

// ErrNone means that there is no such record.
var ErrNone = errors.New("no record")

// file returns the path of the file about a target or a share. Names that Windows takes for one have one file.
func (d *Dir) file(of, suffix string) string {
	sum := sha256.Sum256([]byte(winpath.Fold(of)))
	return filepath.Join(d.path, hex.EncodeToString(sum[:12])+suffix)
}

// Use returns the record of a target; ErrNone if there is none.
func (d *Dir) Use(target string) (u Use, err error) { return readUse(d.file(target, useSuffix)) }

func readUse(file string) (u Use, err error) {
	err = read(file, &u)
	if err == nil && (u.Remote == "" || u.Target == "") {
		err = errors.New("it names no share")
	}
	if err != nil && !errors.Is(err, ErrNone) {
		err = fmt.Errorf("the record %s of a staged share cannot be read; remove it if no pod uses the share: %w", file, err)
	}
	return u, err
}

// Uses returns all records of targets. One that cannot be read is an error: it may be of any share.
func (d *Dir) Uses() (all []Use, err error) {
	dir, err := os.Open(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(maxRecords) // a pattern would pass over what cannot be read
	_ = dir.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) == maxRecords {
		return nil, fmt.Errorf("the directory %s of records has %d files or more", d.path, maxRecords)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, useSuffix) {
			continue
		}
		u, err := readUse(filepath.Join(d.path, name))
		if errors.Is(err, ErrNone) { // it has gone meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

// PutUse writes the record of a target.
func (d *Dir) PutUse(u Use) error { return d.put(d.file(u.Target, useSuffix), u) }

// RemoveUse removes the record of a target, if there is one.
func (d *Dir) RemoveUse(target string) error { return remove(d.file(target, useSuffix)) }

// Unstaging returns the volume that is being unstaged from a target; ErrNone if there is none.
func (d *Dir) Unstaging(target string) (volume string, err error) {
	var u Unstaging
	file := d.file(target, unstagingSuffix)
	if err = read(file, &u); err != nil && !errors.Is(err, ErrNone) {
		err = fmt.Errorf("the record %s of a volume that is being unstaged cannot be read; remove it, and take the disk "+
			"offline: %w", file, err)
	}
	return u.Volume, err
}

// PutUnstaging writes the record of a volume that is about to be unstaged.
func (d *Dir) PutUnstaging(u Unstaging) error { return d.put(d.file(u.Target, unstagingSuffix), u) }

// RemoveUnstaging removes the record of a volume that was unstaged, if there is one.
func (d *Dir) RemoveUnstaging(target string) error { return remove(d.file(target, unstagingSuffix)) }

// read reads a record. Only a regular file is one, and it is short: reading ends, whatever is there.
func read(file string, record any) error {
	f, err := open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	_ = f.Close()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, record)
}

// put makes a record, through a file of another name, which is flushed before it gets its own.
func (d *Dir) put(file string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := fileowner.MakeDirectory(d.path); err != nil {
		return err
	}
	temporary := file + newSuffix
	if err := remove(temporary); err != nil { // of an earlier try
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = whileOpen(func() error { return os.Rename(temporary, file) })
	}
	if err != nil {
		_ = remove(temporary)
	}
	return err
}

func remove(file string) error {
	err := whileOpen(func() error { return os.Remove(file) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// How long another process has a record open: it reads it.
const (
	openPause = 5 * time.Millisecond
	openTries = 100
)

// whileOpen repeats a change while another process has the file open: Windows neither removes nor replaces it then.
func whileOpen(change func() error) error {
	for try := 1; ; try++ {
		err := change()
		if err == nil || !inUse(err) || try == openTries {
			return err
		}
		time.Sleep(openPause)
	}
}

// lockPause is the pause between two tries to get a lock that another process has.
const lockPause = 10 * time.Millisecond

// Lock takes the lock of a share, which all processes with these records respect. Callers in one process queue, and the
// system releases the lock of a process that ends.
func (d *Dir) Lock(ctx context.Context, share string) (unlock func(), err error) {
	waiting := func(err error) error {
		return fmt.Errorf("waiting for another program that uses the records of shares in %s: %w", d.path, err)
	}
	leave, err := d.locks.Acquire(ctx, winpath.Fold(share))
	if err != nil {
		return nil, waiting(err)
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	if err := fileowner.MakeDirectory(d.path); err != nil {
		return nil, err
	}
	for {
		f, err := tryLock(d.file(share, lockSuffix))
		if err != nil {
			return nil, err
		}
		if f != nil {
			return func() { _ = f.Close(); leave() }, nil
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, waiting(ctx.Err())
		}
	}
}

// regular returns an open file if it is a regular one, and closes another one.
func regular(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: %v", f.Name(), info.Mode())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
