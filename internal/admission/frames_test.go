// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"slices"
	"testing"

	"golang.org/x/net/http2"
)

// FuzzFrames compares with the framer of x/net, however the bytes are cut.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x00\x00\x02\x01\x05\x00\x00\x00\x01ab\x00\x00\x00\x04\x01\x00\x00\x00\x00"), uint8(1))
	f.Add([]byte("\x00\x00\x04\x03\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x03\x00\x01\x80\x00\x00\x05xyz"), uint8(7))
	long := append([]byte("\x01\x00\x05\x00\x00\x00\x00\x00\x01"), make([]byte, 1<<16+5)...) // a length of three bytes
	f.Add(append(long, "\x00\x00\x00\x01\x05\x80\x00\x00\x03"...), uint8(200))
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		var want, got []frame
		framer := http2.NewFramer(nil, bytes.NewReader(b))
		framer.AllowIllegalReads = true
		framer.SetMaxReadFrameSize(1<<24 - 1)
		for {
			read, err := framer.ReadFrame()
			if read == nil || err != nil {
				break // what the framer does not take is not compared
			}
			h := read.Header()
			want = append(want, frame{int(h.Length), byte(h.Type), byte(h.Flags), h.StreamID})
		}
		var fs frames
		for step := int(cut) + 1; len(b) > 0; b = b[min(step, len(b)):] {
			fs.pass(b[:min(step, len(b))], func(f frame) { got = append(got, f) })
		}
		if len(got) < len(want) || !slices.Equal(want, got[:len(want)]) {
			t.Errorf("got %v, want %v first", got, want)
		}
	})
}
