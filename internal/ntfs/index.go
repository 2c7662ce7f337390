// SPDX-License-Identifier: Apache-2.0

package ntfs

import "slices"

// The rules by which an index is sorted.
const (
	collateFileNames    = 0x01
	collateNumbers      = 0x10
	collateSecurityHash = 0x12
)

// The flags of an entry, and of the header of a root whose entries are elsewhere.
const (
	entryBelow = 1 // it has the number of an index block
	entryLast  = 2
	largeIndex = 1
)

// indexBlock is the size of a block of an index.
const indexBlock = 4096

// nameEntry returns the entry of a file in a directory.
func nameEntry(file uint64, name []byte) []byte {
	e := make([]byte, align(16+len(name), 8))
	le.PutUint64(e, file)
	le.PutUint16(e[8:], uint16(len(e)))
	le.PutUint16(e[10:], uint16(len(name)))
	copy(e[16:], name)
	return e
}

// viewEntry returns an entry of another index: a key and its data.
func viewEntry(key, data []byte) []byte {
	e := make([]byte, align(16+len(key)+len(data), 8))
	le.PutUint16(e, uint16(16+len(key)))
	le.PutUint16(e[2:], uint16(len(data)))
	le.PutUint16(e[8:], uint16(len(e)))
	le.PutUint16(e[10:], uint16(len(key)))
	copy(e[16:], key)
	copy(e[16+len(key):], data)
	return e
}

// lastEntry returns the entry that ends a list.
func lastEntry(flags uint16) []byte {
	e := make([]byte, 16)
	if flags&entryBelow != 0 {
		e = make([]byte, 24) // with the number of the first block: 0
	}
	le.PutUint16(e[8:], uint16(len(e)))
	le.PutUint16(e[12:], flags|entryLast)
	return e
}

// indexRoot returns the value of $INDEX_ROOT with sorted entries, or, if large, for entries in index block 0.
func indexRoot(kind, rule uint32, large bool, entries ...[]byte) []byte {
	const header = 16
	b := make([]byte, header*2)
	le.PutUint32(b, kind)
	le.PutUint32(b[4:], rule)
	le.PutUint32(b[8:], indexBlock)
	b[12] = indexBlock / ClusterSize
	last := uint16(0)
	if large {
		b[28], last = largeIndex, entryBelow
	}
	b = append(b, slices.Concat(append(entries, lastEntry(last))...)...)
	le.PutUint32(b[16:], header)
	le.PutUint32(b[20:], uint32(len(b)-header))
	le.PutUint32(b[24:], uint32(len(b)-header))
	return b
}

// firstBlock returns index block 0 with sorted entries.
func firstBlock(entries ...[]byte) []byte {
	const header, at = 24, 40
	b := make([]byte, indexBlock)
	copy(b, "INDX")
	first := protectable(b, at)
	list := slices.Concat(append(entries, lastEntry(0))...)
	le.PutUint32(b[24:], uint32(first-header))
	le.PutUint32(b[28:], uint32(first-header+len(list)))
	le.PutUint32(b[32:], indexBlock-header)
	copy(b[first:], list)
	protect(b)
	return b
}
