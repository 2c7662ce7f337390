// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/json"
	"runtime"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// Schema is the version of the form that this package writes and reads.
const Schema = 1

// The hosts of a recording.
const (
	Windows  = "Windows"
	Wine     = "Wine" // never passed off as Windows
	Emulated = "emulated"
)

// A Header begins a recording.
type Header struct {
	Schema       int    `json:"recording"`
	Host         string `json:"host"`                  // Windows, Wine or Emulated
	Version      string `json:"version,omitempty"`     // of Windows, "10.0.20348"; under Wine that which it claims to be
	WineVersion  string `json:"wineVersion,omitempty"` // "10.0"
	Architecture string `json:"architecture"`          // "amd64"
	Date         string `json:"date"`                  // "2026-11-22"
	Program      string `json:"program,omitempty"`     // that made the calls
}

// A Recording is a header with its calls, in the order in which they ended.
type Recording struct {
	Header
	Calls []Call `json:"calls"`
}

// A Call is one kernel call.
type Call struct {
	Sequence uint64 `json:"sequence"` // the order in which calls began, from 1
	Function string `json:"function"` // one of kernel.Functions, or Close

	// What went in. Object and Argument are, except for secrets, the strings of the call in the order of its parameters,
	// Numbers its numbers.
	Handle    uint64 `json:"handle,omitempty"`    // that it was made on: the Sequence of the call that opened it
	Object    string `json:"object,omitempty"`    // of a call on a handle: by which the handle was opened
	Device    bool   `json:"device,omitempty"`    // the handle is one of OpenDevice
	Directory uint64 `json:"directory,omitempty"` // of OpenFile and Rename: the open directory, as in Handle
	Argument  string `json:"argument,omitempty"`  // of OpenFile and Rename: the name in that directory
	// the control code, information class, form of a path or provider
	Code     uint32          `json:"code,omitempty"`
	CodeName string          `json:"codeName,omitempty"` // of a control code
	How      *kernel.OpenHow `json:"how,omitempty"`
	Numbers  []int64         `json:"numbers,omitempty"`
	In       []byte          `json:"in,omitempty"`
	Room     int             `json:"room,omitempty"` // bytes of the output buffer

	// What came out.
	Win32  uint32 `json:"win32,omitempty"`  // 0: success
	Error  string `json:"error,omitempty"`  // the code's name
	Failed string `json:"failed,omitempty"` // the Windows function that failed
	End    bool   `json:"end,omitempty"`    // of ReadAt: io.EOF
	// without the zeros at its end, if the call does not say how many bytes it wrote
	Out      []byte          `json:"out,omitempty"`
	Cut      int             `json:"cut,omitempty"`    // bytes that Out was too long by
	Count    int             `json:"count,omitempty"`  // bytes that ReadAt or DeviceIoControl returned, structures in Out
	Base     uint64          `json:"base,omitempty"`   // the address of Out that pointers in it are relative to
	Hash     string          `json:"hash,omitempty"`   // of ReadAt: the SHA-256 of the bytes that were read
	Zero     bool            `json:"zero,omitempty"`   // of ReadAt: they are all zero
	Result   json.RawMessage `json:"result,omitempty"` // a returned string, list or structure
	Nanosecs int64           `json:"nanoseconds"`
}

// closing is the Function of Handle.Close, which kernel.Functions does not list.
const closing = "Close"

// Opens reports whether the call returned a handle.
func (c *Call) Opens() bool {
	return (c.Function == "OpenFile" || c.Function == "OpenDevice") && c.Succeeded()
}

// Succeeded reports whether the call did what was asked, the end of a device included.
func (c *Call) Succeeded() bool { return c.Win32 == 0 && c.Error == "" }

// OfEmulated returns the header of recordings of an emulated node.
func OfEmulated(program string) Header {
	return Header{Host: Emulated, Architecture: runtime.GOARCH, Program: program}
}
