// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// A Recorder writes the calls of a test. It is safe for concurrent use. A failure to write ends the recording and
// disturbs no call.
type Recorder struct {
	test string

	mu  sync.Mutex
	to  io.Writer
	err error
}

// New returns a recorder that gives each line to a writer at once: what a dying process leaves is whole but for the
// last line, and several processes may append to one file.
func New(to io.Writer, test string) *Recorder { return &Recorder{test: test, to: to} }

// Err returns what kept the recording from being whole.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Intercept is the kernel.Interceptor.
func (r *Recorder) Intercept(_ context.Context, call kernel.Call, do func() error) error {
	c := Call{Test: r.test, Function: call.Function, Object: call.Object, Argument: call.Argument,
		Code: call.Code, In: slices.Clone(call.Input)}
	if call.Function == "DeviceIoControl" {
		c.CodeName = win32.ControlCodeName(call.Code)
	}
	if call.Parameters != nil {
		c.Parameters = encoded(call.Parameters)
	}
	start := time.Now()
	err := do()
	c.Nanoseconds = time.Since(start).Nanoseconds()
	c.fail(err)
	if call.Output != nil && hasOutput(err) {
		c.returned(call, call.Output())
	}
	r.write(append(encoded(c), '\n'))
	return err
}

func (r *Recorder) write(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		_, r.err = r.to.Write(line)
	}
}

// hasOutput reports whether a call that ended so returned something.
func hasOutput(err error) bool {
	var code win32.Errno
	return err == nil || errors.Is(err, io.EOF) ||
		errors.As(err, &code) && (code == win32.ERROR_MORE_DATA || code.IsISCSIWarning())
}

// fail notes how a call ended.
func (c *Call) fail(err error) {
	var (
		failed *kernel.Error
		code   win32.Errno
	)
	switch {
	case err == nil:
	case errors.As(err, &code):
		c.Win32, c.Error = uint32(code), code.Name()
		if errors.As(err, &failed) {
			c.Failed = failed.Function
		}
	default:
		c.Error = err.Error()
	}
}

// returned notes what a call returned, without secrets.
func (c *Call) returned(call kernel.Call, output any) {
	switch output := output.(type) {
	case []byte:
		c.buffer(call, output)
	case kernel.Array:
		c.Count = output.Count
		if c.Function != "ISCSIPersistentLogins" {
			c.Out = output.Bytes
		} else if logins, err := win32.ParsePersistentISCSILogins(output.Bytes, output.Count); err == nil {
			c.Result = encoded(logins) // without their options, in which user names and secrets are
		}
	case kernel.ISCSISessions:
		c.Out, c.Base, c.Count = output.Buffer, output.Base, output.Count
	default:
		c.Result = encoded(output)
	}
}

// buffer notes the output of a call that fills one.
func (c *Call) buffer(call kernel.Call, out []byte) {
	switch c.Function {
	case "ReadAt":
		c.Count = len(out)
		c.Zero = len(out) > 0 && len(bytes.TrimLeft(out, "\x00")) == 0
		if call.Device && call.Parameters[1] == int64(0) {
			c.Out = bootSector(out)
		}
	case "SystemFirmwareTable":
		c.Out = systemOnly(out)
	case "Information":
		c.Out = bytes.TrimRight(out, "\x00")
	default:
		c.Out = out
	}
}

// bootSector returns a device's boot sector, which describes a partition table or a file system; nil if it has none.
// Everything else on a device may be user data.
func bootSector(read []byte) []byte {
	const size = 512
	if len(read) < size || read[size-2] != 0x55 || read[size-1] != 0xAA {
		return nil
	}
	return read[:size]
}

// systemOnly returns an SMBIOS table with nothing but what is asked of it, the system's structure, and that without its
// UUID: the rest has the serial numbers of all that is in a machine.
func systemOnly(table []byte) []byte {
	smbios, err := win32.ParseSMBIOS(slices.Clone(table))
	if err != nil {
		return nil
	}
	const system, uuid, sizeofUUID = 1, 4, 16 // the offset is that after the header
	smbios.Structures = slices.DeleteFunc(smbios.Structures,
		func(s win32.SMBIOSStructure) bool { return s.Type != system })
	for _, s := range smbios.Structures {
		if len(s.Data) > uuid {
			clear(s.Data[uuid:min(len(s.Data), uuid+sizeofUUID)])
		}
	}
	return deviceside.SMBIOS(smbios)
}

func encoded(v any) []byte {
	text, _ := json.Marshal(v) //nolint:errchkjson // strings, numbers and bytes
	return text
}
