// SPDX-License-Identifier: Apache-2.0

package win32

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
