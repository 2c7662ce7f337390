// SPDX-License-Identifier: Apache-2.0

package ntfs

import (
	"math/bits"
	"slices"
)

const (
	logPage    = 4096
	noClient   = 0xFFFF
	logClean   = 2
	logMinimum = 256 << 10 // what mkntfs takes for the least that Windows accepts
)

// restartPage returns either of the two pages at the beginning of $LogFile: the volume was left clean, and nobody has
// the log open. Whoever opens it next begins it anew, so the rest of the file does not matter.
func restartPage(logBytes int64) []byte {
	const area, client, clientBytes = 0x30, 0x30, 0xA0
	p := make([]byte, logPage)
	copy(p, "RSTR")
	protectable(p, 0x1E)
	le.PutUint32(p[16:], logPage)
	le.PutUint32(p[20:], logPage)
	le.PutUint16(p[24:], area)
	le.PutUint16(p[26:], 1) // version 1.1
	le.PutUint16(p[28:], 1)
	a := p[area:]
	le.PutUint16(a[8:], 1)         // clients
	le.PutUint16(a[12:], noClient) // the first in use; client 0 is free
	le.PutUint16(a[14:], logClean)
	le.PutUint32(a[16:], uint32(67-bits.Len64(uint64(logBytes)))) // bits of a sequence number; the rest say the place
	le.PutUint16(a[20:], client+clientBytes)
	le.PutUint16(a[22:], client)
	le.PutUint64(a[24:], uint64(logBytes))
	le.PutUint16(a[36:], 0x30) // the header of a log record
	le.PutUint16(a[38:], 0x40) // and that of a page of records
	c := a[client:]
	le.PutUint16(c[16:], noClient)
	le.PutUint16(c[18:], noClient)
	name := utf16Bytes("NTFS")
	le.PutUint32(c[28:], uint32(len(name)))
	copy(c[32:], name)
	protect(p)
	return p
}

// logIsClean reports whether nothing in a $LogFile, by its two restart pages, waits to be done: the newer page says so,
// or the file was emptied, which fills it with ones.
func logIsClean(pages []byte) bool {
	var newest uint64
	found, clean := false, false
	for page := range slices.Chunk(pages, logPage) {
		if le.Uint32(page) == 0xFFFFFFFF {
			continue
		}
		if unprotect(page, "RSTR") != nil || le.Uint16(page[24:]) > logPage-48 {
			return false
		}
		area := page[le.Uint16(page[24:]):]
		if sequence := le.Uint64(area); !found || sequence > newest {
			newest = sequence
			clean = le.Uint16(area[12:]) == noClient || le.Uint16(area[14:])&logClean != 0
		}
		found = true
	}
	return clean || !found
}
