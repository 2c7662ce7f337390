// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

const offsetFileName = 68 // FileName

// DirectoryEntries encodes as many entries as fit in limit bytes as one chain, each at a multiple of 8 bytes, and
// returns their number. It is 0 if not even the first entry fits. Sizes and times, which the agent does not read, stay
// zero.
func DirectoryEntries(entries []win32.DirectoryEntry, limit int) (out []byte, used int) {
	var b cstruct.Buffer
	last := 0
	for i, entry := range entries {
		name := cstruct.EncodeUTF16(entry.Name)
		at := align(len(b), 8)
		if at+offsetFileName+len(name) > limit {
			break
		}
		b = append(b, make([]byte, at-len(b)+offsetFileName)...)
		if i > 0 {
			b.PutU32(last, uint32(at-last)) // NextEntryOffset, from the start of this one; 0 in the last
		}
		e := b[at:]
		e.PutU32(56, entry.Attributes)  // FileAttributes
		e.PutU32(60, uint32(len(name))) // FileNameLength
		if entry.Attributes&win32.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
			e.PutU32(64, entry.ReparseTag) // EaSize
		}
		b = append(b, name...)
		last, used = at, i+1
	}
	return b, used
}
