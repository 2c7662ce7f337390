// SPDX-License-Identifier: Apache-2.0

// Package records keeps, in a directory of the machine, what no mount point and no link of the node says: which targets
// use a share, whose the share's mapping is, and which volume is being unstaged. A record is a file, whole or not there
// at all whenever the machine stops. Several processes may have the directory in common.
package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Dir is a directory of records. It is safe for concurrent use.
type Dir struct{ path string }

// New returns the records in a directory, which is made with the first of them.
func New(path string) *Dir { return &Dir{path: path} }

// The ends of the names of other files.
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

// file returns the path of the file about a target or a share.
func (d *Dir) file(of string, suffix Kind) string {
	return filepath.Join(d.path, stem(of)+string(suffix))
}

// named matches the names that file gives. Other files in the directory are not records.
var named = regexp.MustCompile(`^[0-9a-f]{24}(\.[a-z]+)$`)

// there returns an error if the directory is a link, so that the records would be elsewhere. None is success.
func (d *Dir) there() error {
	link, err := fileowner.IsLink(d.path)
	if err == nil && link {
		err = fmt.Errorf("the directory of records %s is a link; remove it", d.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Get returns the record of a target or a share; ErrNone if there is none.
func (d *Dir) Get(kind Kind, of string) (Record, error) {
	if err := d.there(); err != nil {
		return Record{}, err
	}
	return kind.read(d.file(of, kind))
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
	switch {
	case err != nil:
	case k == Use && r.Target == "":
		err = errors.New("it names no target")
	case k == Use:
		_, err = winpath.ParseUNC(r.Remote)
	case k == Mapping && stem(r.Share)+string(k) != filepath.Base(file):
		err = fmt.Errorf("it is of another one, %s", r.Share)
	}
	if err != nil {
		return Record{}, fmt.Errorf("the record %s %s: %w", file, k.unreadable(), err)
	}
	return r, nil
}

// All returns all records of a kind. One that cannot be read is an error: it may be of any share. A Mapping that cannot
// be read says nothing, and is removed.
func (d *Dir) All(kind Kind) (all []Record, err error) {
	names, err := d.names(kind)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		file := filepath.Join(d.path, name)
		switch r, failure := kind.read(file); {
		case failure == nil:
			all = append(all, r)
		case errors.Is(failure, ErrNone): // it has gone meanwhile
		case kind == Mapping:
			err = errors.Join(err, d.remove(file))
		default:
			return nil, failure
		}
	}
	return all, err
}

// names returns the names of the records of a kind.
func (d *Dir) names(kind Kind) (all []string, err error) {
	if err := d.there(); err != nil {
		return nil, err
	}
	dir, err := os.Open(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	const together = 1000
	for {
		names, err := dir.Readdirnames(together) // a pattern would pass over what cannot be read
		for _, name := range names {
			if m := named.FindStringSubmatch(name); len(m) > 1 && m[1] == string(kind) {
				all = append(all, name)
			}
		}
		switch {
		case len(all) > maxRecords:
			return nil, fmt.Errorf("the directory of records %s has more than %d records", d.path, maxRecords)
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
	}
}

// Put writes a record. A Mapping that says nothing is removed, and so is one that cannot be replaced: an old one could
// say that the mapping is the steps' alone.
func (d *Dir) Put(kind Kind, r Record) error {
	file := d.file(r.of(), kind)
	if kind == Mapping && !r.Known() {
		return d.remove(file)
	}
	err := d.put(file, r)
	if err != nil && kind == Mapping {
		_ = d.remove(file)
	}
	return err
}

// put writes a file through one of another name, which is flushed before it gets its own.
func (d *Dir) put(file string, r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := d.make(); err != nil {
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
	err = errors.Join(err, flush(f), f.Close())
	if err == nil {
		err = whileOpen(func() error { return os.Rename(temporary, file) })
	}
	if err != nil {
		_ = remove(temporary)
	}
	return err
}

// flush makes a file survive a power loss. A variable, so that a test sees that it comes before the file has its name.
var flush = (*os.File).Sync

// make makes the directory, unless it is there.
func (d *Dir) make() error {
	if err := d.there(); err != nil {
		return err
	}
	return fileowner.MakePrivateDirectory(d.path)
}

// Remove removes the record of a target or a share, if there is one.
func (d *Dir) Remove(kind Kind, of string) error { return d.remove(d.file(of, kind)) }

func (d *Dir) remove(file string) error {
	if err := d.there(); err != nil {
		return err
	}
	return remove(file)
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
