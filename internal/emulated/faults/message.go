// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"fmt"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Parse returns the fault of a message. Errors: those of Fault.Check.
func Parse(m *api.Fault) (Fault, error) {
	f := Fault{
		Function: m.GetFunction(), Object: m.GetObject(), Method: m.GetMethod(),
		Skip: int(m.GetSkip()), Times: int(m.GetTimes()),
		Status: APIError{Message: m.GetMessage(), Reason: m.GetReason()},
		Cut:    m.GetCut(), Hang: m.GetHang(), Crash: m.GetCrash(), After: m.GetAfterEffect(),
	}
	var err [4]error
	if m.GetControlCode() != "" {
		f.Code, err[0] = ParseControlCode(m.GetControlCode())
	}
	if m.GetFail() != "" {
		f.Error, err[1] = ParseErrno(m.GetFail())
	}
	if m.GetStatus() != "" {
		f.Status.Code, err[2] = parseStatus(m.GetStatus())
	}
	if m.GetDelay() != "" {
		f.Delay, err[3] = ParseDelay(m.GetDelay())
	}
	if err := cmp.Or(err[:]...); err != nil {
		return f, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return f, f.Check()
}

// parseStatus reads a gRPC error code: its name in capitals, as in the specification, or its number.
func parseStatus(text string) (codes.Code, error) {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		number = int64(code.Code_value[text])
	}
	if number < 1 || code.Code_name[int32(number)] == "" {
		return 0, fmt.Errorf("%q is not a gRPC error code such as UNAVAILABLE or 14", text)
	}
	return codes.Code(number), nil
}

// message returns the fault as Parse reads it.
func (f Fault) message() *api.Fault {
	m := &api.Fault{
		Function: f.Function, Object: f.Object, Method: f.Method, Skip: uint32(f.Skip), Times: uint32(f.Times),
		Message: f.Status.Message, Reason: f.Status.Reason,
		Cut: f.Cut, Hang: f.Hang, Crash: f.Crash, AfterEffect: f.After,
	}
	if f.Code != 0 {
		m.ControlCode = win32.ControlCodeName(f.Code)
	}
	if f.Error != 0 {
		m.Fail = cmp.Or(f.Error.Name(), strconv.Itoa(int(f.Error)))
	}
	if f.Status.Code != codes.OK {
		m.Status = code.Code(f.Status.Code).String()
	}
	if f.Delay != (Delay{}) {
		m.Delay = f.Delay.String()
	}
	return m
}

// Calls describes the calls that a fault disturbs.
func Calls(m *api.Fault) string {
	text := m.GetFunction() + m.GetMethod()
	if m.GetControlCode() != "" {
		text += " " + m.GetControlCode()
	}
	if m.GetObject() != "" {
		text += fmt.Sprintf(" on %q", m.GetObject())
	}
	return text
}

// Effect describes the effect of a fault on a call.
func Effect(m *api.Fault) string {
	text := m.GetFail()
	switch {
	case m.GetStatus() != "":
		text = fmt.Sprintf("%s %q", m.GetStatus(), m.GetMessage())
	case m.GetDelay() != "":
		text = "delay " + m.GetDelay()
	case m.GetCut():
		text = "cut"
	case m.GetHang():
		text = "hang"
	case m.GetCrash():
		text = "crash"
	}
	if m.GetAfterEffect() {
		text += " after"
	}
	return text
}
