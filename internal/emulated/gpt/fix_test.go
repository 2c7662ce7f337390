// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"encoding/binary"
	"hash/crc32"
)

// fix writes the signature, the place and correct checksums to the primary header of a medium.
func fix(m disk) {
	le := binary.LittleEndian
	h := m[512:1024]
	copy(h, signature)
	le.PutUint32(h[12:], headerSize)
	le.PutUint64(h[24:], 1)
	le.PutUint32(h[84:], entrySize)
	slots := le.Uint32(h[80:])%maxSlots + 1
	le.PutUint32(h[80:], slots)
	at := le.Uint64(h[72:]) % uint64(len(m)/512)
	le.PutUint64(h[72:], at)
	if end := at*512 + uint64(slots)*entrySize; end <= uint64(len(m)) {
		le.PutUint32(h[88:], crc32.ChecksumIEEE(m[at*512:end]))
	}
	le.PutUint32(h[16:], 0)
	le.PutUint32(h[16:], crc32.ChecksumIEEE(h[:headerSize]))
}
