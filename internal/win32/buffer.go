// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"encoding/binary"
	"fmt"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// LayoutError reports bytes that contradict the structure's documentation: too short, or with a count or offset that
// points outside.
type LayoutError struct {
	Structure string // the C name: "DRIVE_LAYOUT_INFORMATION_EX"
	Problem   string
}

func (e *LayoutError) Error() string { return e.Structure + ": " + e.Problem }

func malformed(structure, format string, args ...any) error {
	return &LayoutError{Structure: structure, Problem: fmt.Sprintf(format, args...)}
}

// buffer is a C structure in memory. The accessors take the field's byte offset; parsers first check the length with
// need.
type buffer []byte

// need returns b as a buffer if it holds at least size bytes.
func need(structure string, b []byte, size int) (buffer, error) {
	if len(b) < size {
		return nil, malformed(structure, "%d bytes, needs %d", len(b), size)
	}
	return b, nil
}

func (b buffer) flag(at int) bool  { return b[at] != 0 }
func (b buffer) u16(at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
func (b buffer) u32(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func (b buffer) u64(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
func (b buffer) i64(at int) int64  { return int64(b.u64(at)) }

func (b buffer) guid(at int) guid.GUID {
	return guid.FromWindowsArray([16]byte(b[at : at+16]))
}

func (b buffer) putFlag(at int, v bool) {
	if v {
		b[at] = 1
	}
}
func (b buffer) putU16(at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
func (b buffer) putU32(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
func (b buffer) putU64(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
func (b buffer) putI64(at int, v int64)  { b.putU64(at, uint64(v)) }

func (b buffer) putGUID(at int, g guid.GUID) {
	bytes := g.ToWindowsArray()
	copy(b[at:], bytes[:])
}

// align rounds n up to a multiple of to, a power of two.
func align(n, to int) int { return (n + to - 1) &^ (to - 1) }
