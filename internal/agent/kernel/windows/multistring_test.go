// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func TestMultiString(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"no string", "\x00\x00", nil},
		{"one", "C:\\\x00\x00", []string{`C:\`}},
		{"two", "C:\\\x00C:\\mnt\\\x00\x00", []string{`C:\`, `C:\mnt\`}},
		{"rest of the buffer", "C:\\\x00\x00old\x00\x00", []string{`C:\`}},
		{"last NUL missing", "C:\\\x00D:\\\x00", []string{`C:\`, `D:\`}},
		{"both NULs missing", "C:\\\x00D:\\", []string{`C:\`, `D:\`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, s := range multiString(utf16.Encode([]rune(test.in))) {
				got = append(got, string(utf16.Decode(s)))
			}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func FuzzMultiString(f *testing.F) {
	f.Add([]byte("C\x00:\x00\x00\x00\x00\x00"))
	f.Add([]byte("C\x00:\x00\x00\x00D\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := make([]uint16, len(raw)/2)
		for i := range in {
			in[i] = binary.LittleEndian.Uint16(raw[2*i:])
		}
		// Joined again, the strings are the beginning of the buffer.
		var joined []uint16
		for _, s := range multiString(in) {
			if len(s) == 0 {
				t.Fatal("an empty string does not end the list")
			}
			joined = append(append(joined, s...), 0)
		}
		n := min(len(joined), len(in))
		if len(joined) > len(in)+1 {
			t.Fatalf("%d units from %d", len(joined), len(in))
		}
		if diff := cmp.Diff(joined[:n:n], in[:n:n]); diff != "" && n > 0 {
			t.Fatalf("-got +want:\n%s", diff)
		}
		if n < len(in) && in[n] != 0 {
			t.Fatalf("%d units left, though the list has not ended", len(in)-n)
		}
	})
}
