// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// How large a recording may be. A disk's life is about a thousand calls.
const (
	maxBuffer = 1 << 20   // bytes of In or Out
	maxLine   = 4 << 20   // bytes
	maxBytes  = 256 << 20 // of a file
	maxCalls  = 1 << 20   // of a file
)

// ErrTorn means that the last line of a recording is not whole, as that of a process that was killed.
var ErrTorn = errors.New("the last line is not whole")

// Read reads recordings. It refuses what it does not know, and what no Writer writes. With ErrTorn the recordings are
// those before the torn line.
func Read(r io.Reader) ([]Recording, error) {
	all := reader{opened: map[uint64]string{}, used: map[uint64]bool{}}
	lines := bufio.NewReader(io.LimitReader(r, maxBytes+1))
	size := 0
	for number := 1; ; number++ {
		line, err := readLine(lines)
		size += len(line)
		switch {
		case size > maxBytes:
			return nil, fmt.Errorf("more than %d bytes", maxBytes)
		case errors.Is(err, io.EOF) && len(line) == 0:
			return all.done, nil
		case errors.Is(err, io.EOF):
			return all.done, fmt.Errorf("line %d: %w", number, ErrTorn)
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if err := all.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// ReadFile reads the recordings of a file, which is compressed if its name ends with .gz.
func ReadFile(path string) ([]Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := io.Reader(f)
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	all, err := Read(from)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return all, err
}

// readLine returns a line without its end; io.EOF with the rest after the last end.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return nil, fmt.Errorf("more than %d bytes", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}

type reader struct {
	done   []Recording
	calls  int
	opened map[uint64]string // the functions that opened the handles of the present recording
	used   map[uint64]bool   // its sequences
}

func (r *reader) line(line []byte) error {
	if isHeader(line) {
		var h Header
		if err := decode(line, &h); err != nil {
			return err
		}
		if err := h.check(); err != nil {
			return err
		}
		r.done = append(r.done, Recording{Header: h})
		clear(r.opened)
		clear(r.used)
		return nil
	}
	var c Call
	if err := decode(line, &c); err != nil {
		return err
	}
	if len(r.done) == 0 {
		return errors.New("a call without a header before it")
	}
	if r.calls++; r.calls > maxCalls {
		return fmt.Errorf("more than %d calls", maxCalls)
	}
	if err := r.check(&c); err != nil {
		return err
	}
	last := &r.done[len(r.done)-1]
	last.Calls = append(last.Calls, c)
	return nil
}

// isHeader reports whether a line is a header, in whatever order its members are.
func isHeader(line []byte) bool {
	var h struct{ Recording *int }
	return bytes.Contains(line, []byte(`"recording":`)) && json.Unmarshal(line, &h) == nil && h.Recording != nil
}

func decode(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}

func (h Header) check() error {
	if h.Schema != Schema {
		return fmt.Errorf("the recording has the form %d, this program knows %d", h.Schema, Schema)
	}
	if !slices.Contains([]string{Windows, Wine, Emulated}, h.Host) || (h.Host == Wine) != (h.WineVersion != "") {
		return fmt.Errorf("the host is %q, Wine's version %q", h.Host, h.WineVersion)
	}
	if _, err := time.Parse(time.DateOnly, h.Date); err != nil {
		return err
	}
	return nil
}

// check refuses a call that no Writer writes, and registers its handle.
func (r *reader) check(c *Call) error {
	switch {
	case c.Function != closing && !slices.Contains(kernel.Functions(), c.Function):
		return fmt.Errorf("the kernel has no function %q", c.Function)
	case c.Sequence == 0 || r.used[c.Sequence]:
		return fmt.Errorf("the sequence %d is 0 or there twice", c.Sequence)
	case c.Function == "DeviceIoControl" && c.CodeName != win32.ControlCodeName(c.Code):
		return fmt.Errorf("the control code 0x%08x is called %q", c.Code, c.CodeName)
	case (c.Function == "OpenFile") != (c.How != nil):
		return fmt.Errorf("%s has parameters of OpenFile, or OpenFile has none", c.Function)
	case len(c.In) > maxBuffer || len(c.Out) > maxBuffer:
		return fmt.Errorf("a buffer of more than %d bytes", maxBuffer)
	case c.Room < 0 || c.Count < 0 || c.Cut < 0 || c.Nanosecs < 0:
		return errors.New("a size is negative")
	case onHandle(c.Function) != (c.Handle != 0):
		return fmt.Errorf("%s is called on handle %d", c.Function, c.Handle)
	}
	for _, h := range []uint64{c.Handle, c.Directory} {
		if h != 0 && r.opened[h] == "" {
			return fmt.Errorf("handle %d was not opened", h)
		}
	}
	r.used[c.Sequence] = true
	if c.Opens() {
		r.opened[c.Sequence] = c.Function
	}
	return nil
}

// onHandle reports whether a function is one of kernel.Handle.
func onHandle(function string) bool {
	switch function {
	case "DeviceIoControl", "ReadAt", "Flush", "FinalPath", "Information", "SetInformation", "Rename", closing:
		return true
	}
	return false
}
