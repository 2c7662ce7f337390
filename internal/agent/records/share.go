// SPDX-License-Identifier: Apache-2.0

package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

// A Share says whose the mapping of a share is. The zero value, and the loss of its file, mean that this is not known.
type Share struct {
	Share string // \\server\share
	Made  Making `json:",omitempty"`
	Asked bool   `json:",omitempty"` // for by the smb group
}

// Making is how far the steps have come with mapping a share.
type Making string

// The states of Making; the zero value means that the steps did not map it.
const (
	Begun Making = "begun" // whether the mapping is theirs is not known
	Made  Making = "made"
)

// Known reports whether there is anything to say.
func (s Share) Known() bool { return s.Made != "" || s.Asked }

// Share returns what is recorded of a share. After an error nothing is known of it.
func (d *Dir) Share(key string) (Share, error) {
	s, err := d.share(d.file(key, shareSuffix))
	if err == nil && s.Share != "" && stem(s.Share) != stem(key) {
		return Share{}, fmt.Errorf("the record of the share %s is of another one, %s", key, s.Share)
	}
	return s, err
}

func (d *Dir) share(file string) (s Share, err error) {
	if err := d.there(); err != nil {
		return s, err
	}
	text, err := plainfile.Read(file, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return Share{}, fmt.Errorf("the record %s of a share cannot be read: %w", file, err)
	}
	return s, nil
}

// PutShare replaces what is recorded of a share. If it cannot be written, the record is removed.
func (d *Dir) PutShare(s Share) error {
	file := d.file(s.Share, shareSuffix)
	if !s.Known() {
		return d.remove(file)
	}
	err := d.put(file, s)
	if err != nil {
		_ = d.remove(file) // an old one could say that the mapping is the steps' alone
	}
	return err
}

// Shares returns the recorded shares. A record that cannot be read, which says nothing, is removed.
func (d *Dir) Shares() (all []string, err error) {
	names, err := d.names(shareSuffix)
	for _, name := range names {
		file := filepath.Join(d.path, name)
		switch s, failure := d.share(file); {
		case failure != nil || s.Known() && stem(s.Share)+shareSuffix != name:
			err = errors.Join(err, d.remove(file))
		case s.Known():
			all = append(all, s.Share)
		}
	}
	return all, err
}
