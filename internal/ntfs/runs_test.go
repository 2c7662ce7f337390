// SPDX-License-Identifier: Apache-2.0

package ntfs

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The bytes are those of the documentation of the Linux-NTFS project.
// https://flatcap.github.io/linux-ntfs/ntfs/concepts/data_runs.html
func TestRuns(t *testing.T) {
	for _, test := range []struct {
		name  string
		bytes []byte
		runs  []run
	}{
		{"one", []byte{0x21, 0x18, 0x34, 0x56, 0}, []run{{0x5634, 0x18}}},
		{"fragmented", []byte{0x31, 0x38, 0x73, 0x25, 0x34, 0x32, 0x14, 0x01, 0xE5, 0x11, 0x02, 0x31, 0x42, 0xAA, 0x00, 0x03,
			0}, []run{{0x342573, 0x38}, {0x363758, 0x114}, {0x393802, 0x42}}},
		{"backwards, with a hole", []byte{0x11, 0x30, 0x60, 0x21, 0x10, 0x00, 0x01, 0x01, 0x10, 0x11, 0x20, 0xE0, 0},
			[]run{{0x60, 0x30}, {0x160, 0x10}, {hole, 0x10}, {0x140, 0x20}}},
	} {
		got, err := decodeRuns(test.bytes, 1<<32)
		if diff := cmp.Diff(test.runs, got, cmp.AllowUnexported(run{})); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
		}
		if got := encodeRuns(test.runs); !bytes.Equal(got, test.bytes) {
			t.Errorf("%s: %x, want %x", test.name, got, test.bytes)
		}
	}
}

func FuzzRuns(f *testing.F) {
	f.Add([]byte{0x21, 0x18, 0x34, 0x56, 0})
	f.Add([]byte{0x01, 0x10, 0x11, 0x20, 0xE0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, err := decodeRuns(b, 1<<40)
		if err != nil {
			return
		}
		again, err := decodeRuns(encodeRuns(runs), 1<<40)
		if diff := cmp.Diff(runs, again, cmp.AllowUnexported(run{})); diff != "" || err != nil {
			t.Errorf("%x is read as other runs when encoded again: %v\n%s", b, err, diff)
		}
	})
}
