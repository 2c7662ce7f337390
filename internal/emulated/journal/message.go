// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/redact"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// The lengths to which texts in a message are clipped, so that a full answer stays below gRPC's limit of 4 MiB.
const (
	maxJSON = 2048
	maxText = 1024
)

// message returns the entry as the admin API sends it.
func (e *entry) message() *nodeapi.JournalEntry {
	m := &nodeapi.JournalEntry{
		Sequence: e.sequence, Begin: timestamppb.New(e.begin), Duration: durationpb.New(e.duration), RequestId: e.requestID,
	}
	if e.Function != "" {
		m.Call = &nodeapi.JournalEntry_Kernel{Kernel: e.kernelCall()}
		return m
	}
	call := &nodeapi.APICall{
		Endpoint: e.endpoint, Method: e.method, Request: printable.Clip(e.request.text(), maxJSON),
		Response: printable.Clip(e.response.text(), maxJSON),
	}
	if e.sequence != 0 {
		call.Code = status.Code(e.err).String()
	}
	if e.err != nil {
		call.Message = printable.Clip(status.Convert(e.err).Message(), maxText)
	}
	m.Call = &nodeapi.JournalEntry_Api{Api: call}
	return m
}

func (e *entry) kernelCall() *nodeapi.KernelCall {
	call := &nodeapi.KernelCall{Function: e.Function, Object: printable.Clip(e.Object, maxText), Part: uint32(e.Part),
		Changes: Changes(e.Call)}
	if e.Code != 0 { // a class has no name, as a control code may have
		call.ControlCode = win32.ControlCodeName(e.Code)
	}
	call.Arguments = printable.Clip(e.arguments(), maxText)
	if code, is := errors.AsType[win32.Errno](e.err); is {
		call.Win32Code, call.Error = uint32(code), printable.Clip(code.Error(), maxText)
	} else if e.err != nil {
		call.Error = printable.Clip(e.err.Error(), maxText)
	}
	return call
}

// arguments returns a kernel call's arguments other than its object.
func (e *entry) arguments() string {
	switch {
	case e.Function == "DeviceIoControl":
		return describeInput(e.Code, e.Input)
	case len(e.Input) > 0:
		return fmt.Sprintf("%x", e.Input)
	case e.Function == "OpenFile" && mayMake(e.Call):
		return "create"
	}
	return e.Argument
}

// text returns the message as JSON on one line, without secrets.
func (b body) text() string {
	if b.message != nil {
		b.message, b.tooLarge = redact.Mask(b.message)
	}
	switch {
	case b.tooLarge > 0:
		return fmt.Sprintf("(%d bytes)", b.tooLarge)
	case b.message == nil:
		return ""
	}
	text, err := redact.JSON(b.message)
	if err != nil {
		return "(not valid)"
	}
	return string(text)
}
