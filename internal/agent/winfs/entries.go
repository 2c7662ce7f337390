// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// listingBytes is the size of one read of a directory, whose length a workload controls.
const listingBytes = 64 << 10

// Entries reads the entries of a directory, a buffer at a time. Those that were returned may be deleted meanwhile.
type Entries struct {
	Directory *File
	buffer    []byte
	begun     bool
	entries   []win32.DirectoryEntry // read and not returned yet
}

// Next returns the next entry, . and .. aside, or nil at the end.
func (s *Entries) Next() (*win32.DirectoryEntry, error) {
	for {
		for len(s.entries) > 0 {
			entry := &s.entries[0]
			s.entries = s.entries[1:]
			if entry.Name != "." && entry.Name != ".." {
				return entry, nil
			}
		}
		class := uint32(win32.FileFullDirectoryInfo)
		if !s.begun {
			class = win32.FileFullDirectoryRestartInfo
		}
		if s.buffer == nil {
			s.buffer = make([]byte, listingBytes)
		}
		clear(s.buffer)
		err := s.Directory.Information(class, s.buffer)
		// The root directory of a volume has neither . nor ..: an empty one has no such file (MS-FSA 2.1.5.6.3).
		// https://github.com/golang/go/issues/61159
		if errdefs.HasCode(err, win32.ERROR_NO_MORE_FILES) || !s.begun && errdefs.HasCode(err, win32.ERROR_FILE_NOT_FOUND) {
			return nil, nil //nolint:nilnil // the end is an answer
		}
		if err != nil {
			return nil, err
		}
		s.begun = true
		if s.entries, err = win32.ParseDirectoryEntries(s.buffer); err != nil {
			return nil, err
		}
	}
}

// Has reports whether a directory has an entry, . and .. aside, for which f is true. It lists no further than that.
func (l *File) Has(f func(win32.DirectoryEntry) (bool, error)) (bool, error) {
	s := Entries{Directory: l}
	for {
		entry, err := s.Next()
		if entry == nil || err != nil {
			return false, err
		}
		if found, err := f(*entry); found || err != nil {
			return found, err
		}
	}
}
