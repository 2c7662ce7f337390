// SPDX-License-Identifier: Apache-2.0

package ntfs

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

var le = binary.LittleEndian

// stride is the number of bytes whose last two are protected against torn writes, whatever the size of a sector.
const stride = 512

// The flags of a file record.
const (
	recordInUse     = 1
	recordDirectory = 2
	recordViewIndex = 8
)

// record is a file record of the MFT under construction.
type record struct {
	b        []byte
	used     int
	instance uint16 // of the next attribute
}

func newRecord(size int, number, flags uint16) *record {
	r := &record{b: make([]byte, size)}
	copy(r.b, "FILE")
	r.used = protectable(r.b, 0x30)
	sequence := max(number, 1) // it distinguishes the files that a record has had; system files have their number
	le.PutUint16(r.b[0x10:], sequence)
	le.PutUint16(r.b[0x14:], uint16(r.used))
	le.PutUint16(r.b[0x16:], flags)
	le.PutUint32(r.b[0x1C:], uint32(size))
	le.PutUint32(r.b[0x2C:], uint32(number))
	return r
}

// resident adds an attribute whose value is in the record.
func (r *record) resident(kind uint32, name string, value []byte) {
	const header = 24
	at, nameEnd := r.attribute(kind, name, header)
	a := r.b[at:]
	le.PutUint32(a[16:], uint32(len(value)))
	le.PutUint16(a[20:], uint16(nameEnd))
	if kind == typeFileName {
		a[22] = 1 // indexed
		le.PutUint16(r.b[0x12:], le.Uint16(r.b[0x12:])+1)
	}
	copy(a[nameEnd:], value)
	r.end(at, nameEnd+len(value))
}

// outside adds an attribute whose value is in clusters.
func (r *record) outside(kind uint32, name string, runs []run, dataBytes, initializedBytes int64) {
	const header = 64
	at, nameEnd := r.attribute(kind, name, header)
	a := r.b[at:]
	a[8] = 1
	le.PutUint16(a[32:], uint16(nameEnd))
	setExtent(a, runs, dataBytes, initializedBytes, ClusterSize)
	r.end(at, nameEnd+copy(a[nameEnd:], encodeRuns(runs)))
}

// setExtent writes the sizes of an attribute whose value is in clusters.
func setExtent(a []byte, runs []run, dataBytes, initializedBytes, cluster int64) {
	clusters := clustersIn(runs)
	le.PutUint64(a[24:], uint64(clusters-1)) // the last cluster's number within the attribute
	le.PutUint64(a[40:], uint64(clusters*cluster))
	le.PutUint64(a[48:], uint64(dataBytes))
	le.PutUint64(a[56:], uint64(initializedBytes))
}

// attribute begins an attribute. It returns its place and, from there, that behind its name.
func (r *record) attribute(kind uint32, name string, header int) (at, nameEnd int) {
	at = r.used
	a := r.b[at:]
	le.PutUint32(a, kind)
	encoded := utf16Bytes(name)
	a[9] = byte(len(encoded) / 2)
	le.PutUint16(a[10:], uint16(header))
	le.PutUint16(a[14:], r.instance)
	r.instance++
	return at, align(header+copy(a[header:], encoded), 8)
}

func (r *record) end(at, length int) {
	length = align(length, 8)
	le.PutUint32(r.b[at+4:], uint32(length))
	r.used = at + length
}

// bytes returns the finished record.
func (r *record) bytes() []byte {
	le.PutUint32(r.b[r.used:], typeEnd)
	le.PutUint32(r.b[0x18:], uint32(r.used+8))
	le.PutUint16(r.b[0x28:], r.instance)
	protect(r.b)
	return r.b
}

// protectable makes room at a place for the update sequence array, and returns where the room ends.
func protectable(b []byte, at int) int {
	le.PutUint16(b[4:], uint16(at))
	le.PutUint16(b[6:], uint16(len(b)/stride+1))
	return align(at+(len(b)/stride+1)*2, 8)
}

// protect writes a new number to the end of each stride, and what was there to the update sequence array.
func protect(b []byte) {
	array := b[le.Uint16(b[4:]):]
	number := le.Uint16(array) + 1
	if number == 0 {
		number = 1
	}
	le.PutUint16(array, number)
	for i := 1; i <= len(b)/stride; i++ {
		end := b[i*stride-2:]
		copy(array[i*2:], end[:2])
		le.PutUint16(end, number)
	}
}

var errTorn = errors.New("a record is damaged")

// unprotect undoes protect, if the record has the mark and all of its strides are of one write.
func unprotect(b []byte, mark string) error {
	at, count := int(le.Uint16(b[4:])), int(le.Uint16(b[6:]))
	if string(b[:4]) != mark || count != len(b)/stride+1 || at < 8 || at+count*2 > stride-2 {
		return errTorn
	}
	array := b[at:]
	for i := 1; i < count; i++ {
		end := b[i*stride-2:]
		if le.Uint16(end) != le.Uint16(array) {
			return errTorn
		}
		copy(end[:2], array[i*2:])
	}
	return nil
}

func align(n, to int) int { return (n + to - 1) / to * to }

func utf16Bytes(s string) (b []byte) {
	for _, unit := range utf16.Encode([]rune(s)) {
		b = le.AppendUint16(b, unit)
	}
	return b
}
