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
	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A Record says something of a target, the path of a link or a mount point.
type Record struct {
	Remote string `json:",omitempty"` // of a Use: \\server\share\dir
	Volume string `json:",omitempty"` // of an Unstaging
	Target string
}

// A Kind is a kind of records, by the end of their files' names.
type Kind string

const (
	// Use says that a link at the target leads to a share.
	Use Kind = ".json"
	// Unstaging says that a volume is being unstaged from the target: between its unmounting and its disk's going
	// offline, nothing else says which disk that is.
	Unstaging Kind = ".leaving"
)

// Dir is a directory of records. It is safe for concurrent use.
type Dir struct {
	path  string
	locks operation.KeyedLocks // of this process
}

// New returns the records in a directory, which is made with the first of them.
func New(path string) *Dir { return &Dir{path: path} }

// The ends of the names of files that are no records.
const (
	lockSuffix = ".lock"
	newSuffix  = ".new"
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

// Get returns the record of a target; ErrNone if there is none.
func (d *Dir) Get(kind Kind, target string) (Record, error) {
	return kind.read(d.file(target, string(kind)))
}

// read reads a record. Only a regular file is one, and it is short: reading ends, whatever is there.
func (k Kind) read(file string) (r Record, err error) {
	text, err := plainfile.Read(file, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return r, ErrNone
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && k == Use && (r.Remote == "" || r.Target == "") {
		err = errors.New("it names no share")
	}
	switch {
	case err == nil:
	case k == Use:
		err = fmt.Errorf("the record %s of a staged share cannot be read; remove it if no pod uses the share: %w", file, err)
	default:
		err = fmt.Errorf("the record %s of a volume that is being unstaged cannot be read; remove it, and take the disk "+
			"offline: %w", file, err)
	}
	return r, err
}

// Uses returns all records of that kind. One that cannot be read is an error: it may be of any share.
func (d *Dir) Uses() (all []Record, err error) {
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
		if !strings.HasSuffix(name, string(Use)) {
			continue
		}
		u, err := Use.read(filepath.Join(d.path, name))
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

// Put writes the record of a target, through a file of another name, which is flushed before it gets its own.
func (d *Dir) Put(kind Kind, r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := fileowner.MakeDirectory(d.path); err != nil {
		return err
	}
	file := d.file(r.Target, string(kind))
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

// Remove removes the record of a target, if there is one.
func (d *Dir) Remove(kind Kind, target string) error { return remove(d.file(target, string(kind))) }

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
