// SPDX-License-Identifier: Apache-2.0

package win32

import "encoding/binary"

// encode returns the bytes of a structure whose Go type has the fields of the C declaration, the padding included.
func encode(structure any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, structure)
	if err != nil {
		panic(err) // a type without a fixed size
	}
	return b
}

// parse is the reverse of encode. At least so many bytes must be there; what is missing after them counts as zero.
func parse[T any](structure string, in []byte, least int) (v T, err error) {
	if _, err := need(structure, in, least); err != nil {
		return v, err
	}
	b := make([]byte, binary.Size(v))
	copy(b, in)
	_, err = binary.Decode(b, binary.LittleEndian, &v)
	return v, err
}

// text reads a field of the given number of UTF-16 units, up to its first NUL. The last unit counts as NUL, whatever it
// holds.
func (b buffer) text(at, units int) string { return decodeUTF16(untilNUL(b[at : at+2*(units-1)])) }

// putText writes a field of the given number of UTF-16 units. Text that does not fit together with a NUL is cut off.
func (b buffer) putText(at, units int, s string) {
	copy(b[at:at+2*(units-1)], encodeUTF16(s))
}

// parseArray decodes count consecutive structures of one size. Bytes after them are ignored.
func parseArray[T any](structure string, in []byte, count, size int, parse func([]byte) (T, error)) ([]T, error) {
	if count < 0 || count > len(in)/size {
		return nil, malformed(structure, "%d structures in %d bytes, each has %d", count, len(in), size)
	}
	var all []T
	for i := range count {
		one, err := parse(in[i*size : (i+1)*size])
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
