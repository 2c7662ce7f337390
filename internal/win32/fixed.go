// SPDX-License-Identifier: Apache-2.0

package win32

// text reads a field of so many UTF-16 units, up to its first NUL. The last unit is the NUL's, whatever it holds.
func (b buffer) text(at, units int) string { return decodeUTF16(untilNUL(b[at : at+2*(units-1)])) }

// putText writes a field of so many UTF-16 units. What does not fit, with a NUL at the end, is cut off.
func (b buffer) putText(at, units int, s string) {
	copy(b[at:at+2*(units-1)], encodeUTF16(s))
}

// parseArray decodes count structures of one size that lie one after another. What follows them is not looked at.
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
