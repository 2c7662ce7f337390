// SPDX-License-Identifier: Apache-2.0

package win32

import "strings"

// DirectoryEntry is FILE_FULL_DIR_INFO, one name in a directory.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_full_dir_info
type DirectoryEntry struct {
	Name           string // WTF-8; never empty, without separators or NUL
	Attributes     uint32
	ReparseTag     uint32 // of a reparse point; Windows keeps it in EaSize
	EndOfFile      int64  // bytes
	AllocationSize int64  // bytes
	CreationTime   int64  // times count 100 ns from 1601-01-01 UTC
	LastAccessTime int64
	LastWriteTime  int64
	ChangeTime     int64
	FileIndex      uint32
}

const offsetFileName = 68 // FileName

// DirectoryEntries encodes as many entries as fit in limit bytes as one chain, each at a multiple of 8 bytes, and
// returns their number. It is 0 if not even the first entry fits.
func DirectoryEntries(entries []DirectoryEntry, limit int) (out []byte, used int) {
	var b buffer
	last := 0
	for i, entry := range entries {
		name := encodeUTF16(entry.Name)
		at := align(len(b), 8)
		if at+offsetFileName+len(name) > limit {
			break
		}
		b = append(b, make([]byte, at-len(b)+offsetFileName)...)
		if i > 0 {
			b.putU32(last, uint32(at-last)) // NextEntryOffset, from the start of this one; 0 in the last
		}
		e := b[at:]
		e.putU32(4, entry.FileIndex)       // FileIndex
		e.putI64(8, entry.CreationTime)    // CreationTime
		e.putI64(16, entry.LastAccessTime) // LastAccessTime
		e.putI64(24, entry.LastWriteTime)  // LastWriteTime
		e.putI64(32, entry.ChangeTime)     // ChangeTime
		e.putI64(40, entry.EndOfFile)      // EndOfFile
		e.putI64(48, entry.AllocationSize) // AllocationSize
		e.putU32(56, entry.Attributes)     // FileAttributes
		e.putU32(60, uint32(len(name)))    // FileNameLength
		if entry.Attributes&FILE_ATTRIBUTE_REPARSE_POINT != 0 {
			e.putU32(64, entry.ReparseTag) // EaSize
		}
		b = append(b, name...)
		last, used = at, i+1
	}
	return b, used
}

// ParseDirectoryEntries decodes a chain of FILE_FULL_DIR_INFO, with . and .. if they are there. Bytes after the last
// entry are ignored. An empty name, or one with a separator or NUL, is malformed: a hostile file server may send such a
// name in the hope that it is opened.
func ParseDirectoryEntries(in []byte) ([]DirectoryEntry, error) {
	const structure = "FILE_FULL_DIR_INFO"
	var entries []DirectoryEntry
	for at := 0; ; {
		b, err := need(structure, in[at:], offsetFileName)
		if err != nil {
			return nil, err
		}
		next, length := b.u32(0), b.u32(60) // NextEntryOffset, FileNameLength
		if length == 0 || length%2 != 0 || int64(length) > int64(len(b)-offsetFileName) {
			return nil, malformed(structure, "entry at %d: name of %d bytes, %d left", at, length, len(b)-offsetFileName)
		}
		if next != 0 && (int64(next) < offsetFileName+int64(length) || int64(next) > int64(len(b))) {
			return nil, malformed(structure, "entry at %d: next one %d bytes on, %d left", at, next, len(b))
		}
		entry := DirectoryEntry{
			Name:       decodeUTF16(b[offsetFileName : offsetFileName+int(length)]),
			Attributes: b.u32(56), EndOfFile: b.i64(40), AllocationSize: b.i64(48), FileIndex: b.u32(4),
			CreationTime: b.i64(8), LastAccessTime: b.i64(16), LastWriteTime: b.i64(24), ChangeTime: b.i64(32),
		}
		if strings.ContainsAny(entry.Name, "\\/\x00") {
			return nil, malformed(structure, "entry at %d: name %q", at, entry.Name)
		}
		if entry.Attributes&FILE_ATTRIBUTE_REPARSE_POINT != 0 {
			entry.ReparseTag = b.u32(64) // EaSize
		}
		entries = append(entries, entry)
		if next == 0 {
			return entries, nil
		}
		at += int(next)
	}
}
