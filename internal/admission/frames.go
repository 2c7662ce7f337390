// SPDX-License-Identifier: Apache-2.0

package admission

import "encoding/binary"

// The parts of a frame's header that matter here; RFC 9113, section 6.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameResetStream  = 0x3
	frameContinuation = 0x9

	flagEndStream = 0x1 // of DATA and HEADERS
)

// clientPreface is the length of what a client sends before its first frame; RFC 9113, section 3.4.
const clientPreface = 24

// frame is the header of a frame; RFC 9113, section 4.1.
type frame struct {
	length int
	kind   byte
	flags  byte
	stream uint32
}

// frames finds the frames in one direction of an HTTP/2 connection while its bytes pass by. It checks nothing: gRPC reads
// the same bytes, and closes a connection that does not speak HTTP/2.
type frames struct {
	skip   int // bytes until the next header: of the preface, or of a payload
	header [9]byte
	have   int // bytes of the header
}

// pass takes the bytes that come next and calls f for every frame whose header is complete with them.
func (fs *frames) pass(b []byte, f func(frame)) {
	for len(b) > 0 {
		if fs.skip > 0 {
			n := min(fs.skip, len(b))
			fs.skip -= n
			b = b[n:]
			continue
		}
		n := copy(fs.header[fs.have:], b)
		fs.have += n
		b = b[n:]
		if fs.have < len(fs.header) {
			return
		}
		fs.have = 0
		h := fs.header
		found := frame{
			length: int(h[0])<<16 | int(h[1])<<8 | int(h[2]), kind: h[3], flags: h[4],
			stream: binary.BigEndian.Uint32(h[5:]) &^ (1 << 31),
		}
		fs.skip = found.length
		f(found)
	}
}
