// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// handle is an open handle whose calls are recorded.
type handle struct {
	w      *Writer
	handle kernel.Handle
	number uint64 // the Sequence of the call that opened it
	object string
	device bool
}

func (h *handle) call(function string) *Call {
	return &Call{Function: function, Handle: h.number, Object: h.object, Device: h.device}
}

func (h *handle) DeviceIoControl(code uint32, in, out []byte) (n int, err error) {
	c := h.call("DeviceIoControl")
	c.Code, c.CodeName, c.Room = code, win32.ControlCodeName(code), len(out)
	c.In = append([]byte(nil), in[:min(len(in), maxBuffer)]...)
	err = h.w.do(c, func() (err error) {
		n, err = h.handle.DeviceIoControl(code, in, out)
		if err == nil || errors.Is(err, win32.ERROR_MORE_DATA) {
			c.Count = n
			c.keep(out[:min(n, len(out))])
		}
		return err
	})
	return n, err
}

// bootBytes is how many bytes of a boot sector are kept.
const bootBytes = 512

// ReadAt keeps what a boot sector says of a partition table or a file system. Everything else on a device may be
// somebody's data, and of that it keeps a hash.
func (h *handle) ReadAt(p []byte, offset int64) (n int, err error) {
	c := h.call("ReadAt")
	c.Room, c.Numbers = len(p), []int64{offset}
	err = h.w.do(c, func() (err error) {
		n, err = h.handle.ReadAt(p, offset)
		if read := p[:n]; err == nil || errors.Is(err, io.EOF) {
			sum := sha256.Sum256(read)
			c.Count, c.Hash = n, hex.EncodeToString(sum[:])
			c.Zero = n > 0 && len(bytes.TrimLeft(read, "\x00")) == 0
			if h.device && offset == 0 && n >= bootBytes && read[bootBytes-2] == 0x55 && read[bootBytes-1] == 0xAA {
				c.keep(read[:bootBytes])
			}
		}
		return err
	})
	return n, err
}

func (h *handle) Flush() error { return h.w.do(h.call("Flush"), h.handle.Flush) }

func (h *handle) FinalPath(volumeName uint32) (string, error) {
	c := h.call("FinalPath")
	c.Code = volumeName
	return value(h.w, c, func() (string, error) { return h.handle.FinalPath(volumeName) })
}

func (h *handle) Information(class uint32, out []byte) error {
	c := h.call("Information")
	c.Code, c.Room = class, len(out)
	return h.w.do(c, func() error {
		err := h.handle.Information(class, out)
		if err == nil {
			c.keep(bytes.TrimRight(out, "\x00"))
		}
		return err
	})
}

func (h *handle) SetInformation(class uint32, in []byte) error {
	c := h.call("SetInformation")
	c.Code, c.In = class, append([]byte(nil), in[:min(len(in), maxBuffer)]...)
	return h.w.do(c, func() error { return h.handle.SetInformation(class, in) })
}

func (h *handle) Rename(dir kernel.Handle, name string) error {
	c := h.call("Rename")
	c.Argument = name
	if d, ok := dir.(*handle); ok {
		dir, c.Directory = d.handle, d.number
	}
	return h.w.do(c, func() error { return h.handle.Rename(dir, name) })
}

func (h *handle) Close() error { return h.w.do(h.call(closing), h.handle.Close) }
