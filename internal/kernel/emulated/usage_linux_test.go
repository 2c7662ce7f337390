// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// Whatever bytes there are, nextEntry stays within them and comes to an end.
func FuzzNextEntry(f *testing.F) {
	entry := make([]byte, 24)
	binary.NativeEndian.PutUint16(entry[16:], 24)
	entry[18] = unix.DT_REG
	copy(entry[19:], "name")
	f.Add(entry)
	f.Add(append(entry, entry...))
	f.Add(entry[:23])
	f.Add(make([]byte, 24))
	f.Add(append(append([]byte{}, entry[:19]...), 0, 0, 0, 0, 0)) // without a name
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			e, rest, err := nextEntry(b)
			if err != nil {
				return
			}
			if len(e.name) == 0 || len(e.name)+20 > len(b)-len(rest) {
				t.Fatalf("the name %q and %d bytes are left of %d", e.name, len(rest), len(b))
			}
			b = rest
		}
	})
}
