// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
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

// Messages returns entries as the admin API sends them.
func Messages(entries []Entry) []*nodeapi.JournalEntry {
	messages := make([]*nodeapi.JournalEntry, 0, len(entries))
	for _, e := range entries {
		messages = append(messages, e.message())
	}
	return messages
}

func (e *Entry) message() *nodeapi.JournalEntry {
	m := &nodeapi.JournalEntry{
		Sequence: e.Sequence, Begin: timestamppb.New(e.Begin), Duration: durationpb.New(e.Duration), RequestId: e.RequestID,
	}
	if e.Function != "" {
		m.Call = &nodeapi.JournalEntry_Kernel{Kernel: e.kernelCall()}
		return m
	}
	call := &nodeapi.APICall{
		Endpoint: e.Endpoint, Method: e.Method, Request: printable.Clip(requestText(e.Request, e.TooLarge), maxJSON),
	}
	if e.Sequence != 0 {
		call.Code = status.Code(e.Err).String()
	}
	switch {
	case e.LargeResponse > 0:
		call.Response = requestText(nil, e.LargeResponse)
	case e.Response != nil:
		call.Response = printable.Clip(requestText(redact.Mask(e.Response)), maxJSON)
	}
	if e.Err != nil {
		call.Message = printable.Clip(status.Convert(e.Err).Message(), maxText)
	}
	m.Call = &nodeapi.JournalEntry_Api{Api: call}
	return m
}

func (e *Entry) kernelCall() *nodeapi.KernelCall {
	call := &nodeapi.KernelCall{Function: e.Function, Object: printable.Clip(e.Object, maxText), Part: uint32(e.Part),
		Changes: Changes(e.Call)}
	switch {
	case e.Function == "DeviceIoControl":
		call.ControlCode = win32.ControlCodeName(e.Code)
	case e.Code != 0:
		call.ControlCode = fmt.Sprintf("0x%08x", e.Code)
	}
	call.Arguments = printable.Clip(e.arguments(), maxText)
	if e.Err != nil {
		var code win32.Errno
		if errors.As(e.Err, &code) {
			call.Win32Code = uint32(code)
			call.Error = printable.Clip(code.Error(), maxText)
		} else {
			call.Error = printable.Clip(e.Err.Error(), maxText)
		}
	}
	return call
}

// arguments returns a kernel call's arguments other than its object.
func (e *Entry) arguments() string {
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

// requestText returns a message as JSON on one line.
func requestText(request proto.Message, tooLarge int) string {
	if tooLarge > 0 {
		return fmt.Sprintf("(%d bytes)", tooLarge)
	}
	if request == nil {
		return ""
	}
	text, err := redact.JSON(request)
	if err != nil {
		return "(not valid)"
	}
	return string(text)
}
