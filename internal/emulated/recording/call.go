// SPDX-License-Identifier: Apache-2.0

// Package recording writes down kernel calls: what went in, what came out, and how long it took. csi-proxy-prove makes
// recordings on people's machines, which the conformance tests compare with emulated nodes.
//
// A recording is text, a Call as a JSON object a line, in the order in which they ended. No secret is ever in it, and
// of what devices hold no more than boot sectors. The package is not part of the agent.
package recording

import (
	"encoding/json"
	"errors"
	"io"
)

// A Call is one kernel call. Its first fields are those of kernel.Call.
type Call struct {
	Test       string          `json:"test,omitempty"` // in which it was made
	Function   string          `json:"function"`
	Object     string          `json:"object,omitempty"`
	Argument   string          `json:"argument,omitempty"`
	Code       uint32          `json:"code,omitempty"`
	CodeName   string          `json:"codeName,omitempty"` // of a control code
	Parameters json.RawMessage `json:"parameters,omitempty"`
	In         []byte          `json:"in,omitempty"`

	// The outcome.
	Win32  uint32 `json:"win32,omitempty"`  // 0: success
	Error  string `json:"error,omitempty"`  // the code's name; EOF at the end of a device
	Failed string `json:"failed,omitempty"` // the Windows function that failed
	// without the zeros at its end, if the call does not say how many bytes it wrote
	Out         []byte          `json:"out,omitempty"`
	Count       int             `json:"count,omitempty"`  // of structures in Out; of ReadAt: bytes that were read
	Base        uint64          `json:"base,omitempty"`   // the address of Out that pointers in it are relative to
	Zero        bool            `json:"zero,omitempty"`   // of ReadAt: the bytes are all zero
	Result      json.RawMessage `json:"result,omitempty"` // a returned string, list or structure
	Nanoseconds int64           `json:"nanoseconds"`
}

// Read reads a recording. With an error, it returns the calls before what is not a call: a process that was killed
// leaves a line that is not whole.
func Read(r io.Reader) (calls []Call, err error) {
	d := json.NewDecoder(r)
	for {
		var c Call
		if err := d.Decode(&c); errors.Is(err, io.EOF) {
			return calls, nil
		} else if err != nil {
			return calls, err
		}
		calls = append(calls, c)
	}
}
