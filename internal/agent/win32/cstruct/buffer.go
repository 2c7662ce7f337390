// SPDX-License-Identifier: Apache-2.0

// Package cstruct reads and writes C structures as bytes, little-endian and with the padding of 64-bit Windows.
package cstruct

import (
	"encoding/binary"
	"fmt"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// LayoutError reports bytes that contradict the structure's documentation: too short, or pointing outside.
type LayoutError struct {
	Structure string // the C name: "DRIVE_LAYOUT_INFORMATION_EX"
	Problem   string
}

func (e *LayoutError) Error() string { return e.Structure + ": " + e.Problem }

// Malformed returns a LayoutError.
func Malformed(structure, format string, args ...any) error {
	return &LayoutError{Structure: structure, Problem: fmt.Sprintf(format, args...)}
}

// Buffer is a C structure in memory. Accessors take a field's byte offset; parsers check the length with Need first.
type Buffer []byte

// Need returns b as a Buffer if it holds at least size bytes.
func Need(structure string, b []byte, size int) (Buffer, error) {
	if len(b) < size {
		return nil, Malformed(structure, "%d bytes, needs %d", len(b), size)
	}
	return b, nil
}

// Flag reports whether the byte at an offset is not 0.
func (b Buffer) Flag(at int) bool { return b[at] != 0 }

// U16 reads an unsigned 16-bit field.
func (b Buffer) U16(at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }

// U32 reads an unsigned 32-bit field.
func (b Buffer) U32(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

// U64 reads an unsigned 64-bit field.
func (b Buffer) U64(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// I64 reads a signed 64-bit field.
func (b Buffer) I64(at int) int64 { return int64(b.U64(at)) }

// GUID reads a GUID in the order of Windows.
func (b Buffer) GUID(at int) guid.GUID {
	return guid.FromWindowsArray([16]byte(b[at : at+16]))
}

// PutFlag sets a byte to 1 for true.
func (b Buffer) PutFlag(at int, v bool) {
	if v {
		b[at] = 1
	}
}

// PutU16 writes an unsigned 16-bit field.
func (b Buffer) PutU16(at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }

// PutU32 writes an unsigned 32-bit field.
func (b Buffer) PutU32(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }

// PutU64 writes an unsigned 64-bit field.
func (b Buffer) PutU64(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }

// PutI64 writes a signed 64-bit field.
func (b Buffer) PutI64(at int, v int64) { b.PutU64(at, uint64(v)) }

// PutGUID writes a GUID in the order of Windows.
func (b Buffer) PutGUID(at int, g guid.GUID) {
	bytes := g.ToWindowsArray()
	copy(b[at:], bytes[:])
}
