// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// DirectoryEntry is FILE_FULL_DIR_INFO, one name in a directory, without its sizes and times.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_full_dir_info
type DirectoryEntry struct {
	Name       string // WTF-8; never empty, without separators or NUL
	Attributes uint32
	ReparseTag uint32 // of a reparse point; Windows keeps it in EaSize
}

const offsetFileName = 68 // FileName

// ParseDirectoryEntries decodes a chain of FILE_FULL_DIR_INFO, with . and .. if they are there. Bytes after the last
// entry are ignored. An empty name, or one with a separator or NUL, is malformed: a hostile file server's trap.
func ParseDirectoryEntries(in []byte) ([]DirectoryEntry, error) {
	const structure = "FILE_FULL_DIR_INFO"
	var entries []DirectoryEntry
	for at := 0; ; {
		b, err := cstruct.Need(structure, in[at:], offsetFileName)
		if err != nil {
			return nil, err
		}
		next, length := b.U32(0), b.U32(60) // NextEntryOffset, FileNameLength
		if length == 0 || length%2 != 0 || int64(length) > int64(len(b)-offsetFileName) {
			return nil, cstruct.Malformed(structure, "entry at %d: name of %d bytes, %d left", at, length, len(b)-offsetFileName)
		}
		if next != 0 && (int64(next) < offsetFileName+int64(length) || int64(next) > int64(len(b))) {
			return nil, cstruct.Malformed(structure, "entry at %d: next one %d bytes on, %d left", at, next, len(b))
		}
		entry := DirectoryEntry{
			Name:       cstruct.DecodeUTF16(b[offsetFileName : offsetFileName+int(length)]),
			Attributes: b.U32(56), // FileAttributes
		}
		if strings.ContainsAny(entry.Name, "\\/\x00") {
			return nil, cstruct.Malformed(structure, "entry at %d: name %q", at, entry.Name)
		}
		if entry.Attributes&FILE_ATTRIBUTE_REPARSE_POINT != 0 {
			entry.ReparseTag = b.U32(64) // EaSize
		}
		entries = append(entries, entry)
		if next == 0 {
			return entries, nil
		}
		at += int(next)
	}
}
