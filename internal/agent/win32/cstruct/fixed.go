// SPDX-License-Identifier: Apache-2.0

package cstruct

import "encoding/binary"

// Encode returns the bytes of a structure whose Go type has the fields of the C declaration, the padding included.
func Encode(structure any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, structure)
	if err != nil {
		panic(err) //nolint:forbidigo // a type of ours without a fixed size
	}
	return b
}

// Parse is the reverse of Encode. At least so many bytes must be there; what is missing after them counts as zero.
func Parse[T any](structure string, in []byte, least int) (v T, err error) {
	if _, err := Need(structure, in, least); err != nil {
		return v, err
	}
	b := make([]byte, binary.Size(v))
	copy(b, in)
	_, err = binary.Decode(b, binary.LittleEndian, &v)
	return v, err
}

// Text reads a field of the given number of UTF-16 units, up to its first NUL. The last unit counts as NUL.
func (b Buffer) Text(at, units int) string { return DecodeUTF16(UntilNUL(b[at : at+2*(units-1)])) }

// PutText writes a field of the given number of UTF-16 units. Text that does not fit together with a NUL is cut off.
func (b Buffer) PutText(at, units int, s string) {
	copy(b[at:at+2*(units-1)], EncodeUTF16(s))
}

// ParseArray decodes count consecutive structures of one size, each from as many bytes. Bytes after them are ignored.
func ParseArray[T any](structure string, in []byte, count, size int, parse func(Buffer) (T, error)) ([]T, error) {
	if count < 0 || count > len(in)/size {
		return nil, Malformed(structure, "%d structures in %d bytes, each has %d", count, len(in), size)
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

// NameAt returns a name of length bytes from the names of a structure.
func NameAt(structure string, names Buffer, offset uint32, length uint16) (string, error) {
	end := int64(offset) + int64(length)
	if offset%2 != 0 || length%2 != 0 || end > int64(len(names)) {
		return "", Malformed(structure, "name at %d, %d bytes, in %d bytes", offset, length, len(names))
	}
	return DecodeUTF16(names[offset:end]), nil
}
