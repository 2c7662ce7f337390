// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// A Writer writes a recording. It is safe for concurrent use. A failure to write ends the recording and disturbs no
// call; Close reports it.
type Writer struct {
	began atomic.Uint64

	mu  sync.Mutex
	to  io.Writer
	err error
}

// NewWriter begins a recording.
func NewWriter(to io.Writer, h Header) *Writer {
	w := &Writer{to: to}
	h.Schema = Schema
	if h.Date == "" {
		h.Date = time.Now().UTC().Format(time.DateOnly)
	}
	w.write(h)
	return w
}

// Create begins a recording at the end of a file, which it makes if it is missing. Several processes may do so one
// after the other; their lines do not mix even if they write at once, but then nobody can tell whose they are.
func Create(path string, h Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w := NewWriter(f, h)
	return w, w.failure()
}

// Close ends the recording, and reports what kept it from being whole.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	if c, ok := w.to.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	w.to, w.err = nil, errors.Join(w.err, os.ErrClosed)
	return err
}

func (w *Writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// write writes a line at once, so that one which a dying process leaves is whole or the last.
func (w *Writer) write(v any) {
	line, err := json.Marshal(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && err == nil {
		_, err = w.to.Write(append(line, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
}

// do makes a call and writes it. The call's result is put into c by f.
func (w *Writer) do(c *Call, f func() error) error {
	c.Sequence = w.began.Add(1)
	start := time.Now()
	err := f()
	c.Nanosecs = time.Since(start).Nanoseconds()
	c.fail(err)
	w.write(c)
	return err
}

// fail notes how a call ended.
func (c *Call) fail(err error) {
	var (
		failed *kernel.Error
		code   win32.Errno
	)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		c.End = true
	case errors.As(err, &code):
		c.Win32, c.Error = uint32(code), code.Name()
		if errors.As(err, &failed) {
			c.Failed = failed.Function
		}
	default: // no kernel returns such an error
		c.Error = err.Error()
	}
}

// keep sets the call's output, of which it keeps no more than a recording may hold.
func (c *Call) keep(out []byte) {
	c.Cut = max(0, len(out)-maxBuffer)
	c.Out = append([]byte(nil), out[:len(out)-c.Cut]...)
}

// returned sets the call's result.
func (c *Call) returned(v any) {
	c.Result, _ = json.Marshal(v) //nolint:errchkjson // strings and numbers
}
