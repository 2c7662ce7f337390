// SPDX-License-Identifier: Apache-2.0

// Package faulttext reads and writes the faults of the admin API as people do: codes by their names.
package faulttext

import (
	"fmt"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

// An Effect is what a fault does to a call. One of Fail, Status, Delay, Cut, Hang and Crash is set.
type Effect struct {
	Fail            string // a Win32 error code by name or number
	Status          string // a gRPC code by name or number
	Message, Reason string // of the gRPC error
	Delay           string // as faults.ParseDelay reads it
	Cut             bool   // the connection
	Hang, Crash     bool
	After           bool // the call takes effect first
}

// Set gives a fault the effect.
func (e Effect) Set(f *nodeapi.Fault) error {
	switch {
	case e.Hang:
		f.Effect = &nodeapi.Fault_Hang{Hang: &nodeapi.Hang{}}
	case e.Crash:
		f.Effect = &nodeapi.Fault_Crash{Crash: &nodeapi.Crash{After: e.After}}
	case e.Cut:
		f.Effect = &nodeapi.Fault_Cut{Cut: &nodeapi.Cut{After: e.After}}
	case e.Delay != "":
		d, err := faults.ParseDelay(e.Delay)
		if err != nil {
			return err
		}
		f.Effect = &nodeapi.Fault_Delay{Delay: &nodeapi.Delay{Min: durationpb.New(d.Min), Max: durationpb.New(d.Max)}}
	case e.Status != "":
		code, err := parseCode(e.Status)
		if err != nil {
			return err
		}
		f.Effect = &nodeapi.Fault_Status{Status: &nodeapi.Status{Code: int32(code), Message: e.Message,
			Reason: e.Reason, After: e.After}}
	default:
		errno, err := win32.ParseErrno(e.Fail)
		if err != nil {
			return err
		}
		f.Effect = &nodeapi.Fault_Fail{Fail: &nodeapi.Failure{Win32Code: uint32(errno), After: e.After}}
	}
	return nil
}

// parseCode reads a gRPC error code: its name in capitals, as in the specification, or its number.
func parseCode(text string) (codes.Code, error) {
	var code codes.Code
	quoted := text
	if _, err := strconv.Atoi(text); err != nil {
		quoted = strconv.Quote(text)
	}
	if err := code.UnmarshalJSON([]byte(quoted)); err != nil || code == codes.OK {
		return 0, fmt.Errorf("%q is not a gRPC error code such as UNAVAILABLE or 14", text)
	}
	return code, nil
}

// Calls describes the calls that a fault disturbs.
func Calls(f *nodeapi.Fault) string {
	text := f.GetFunction() + f.GetMethod()
	if f.GetControlCode() != 0 {
		text += " " + win32.ControlCodeName(f.GetControlCode())
	}
	if f.GetObject() != "" {
		text += fmt.Sprintf(" on %q", f.GetObject())
	}
	return text
}

// EffectOf describes the effect of a fault on a call.
func EffectOf(f *nodeapi.Fault) string {
	text, after := "", false
	switch effect := f.GetEffect().(type) {
	case *nodeapi.Fault_Fail:
		errno := win32.Errno(effect.Fail.GetWin32Code())
		if text, after = errno.Name(), effect.Fail.GetAfter(); text == "" {
			text = fmt.Sprintf("error %d", uint32(errno))
		}
	case *nodeapi.Fault_Status:
		text, after = fmt.Sprintf("%v %q", codes.Code(effect.Status.GetCode()), effect.Status.GetMessage()),
			effect.Status.GetAfter()
	case *nodeapi.Fault_Cut:
		text, after = "cut", effect.Cut.GetAfter()
	case *nodeapi.Fault_Delay:
		text = "delay " + faults.Delay{Min: effect.Delay.GetMin().AsDuration(),
			Max: effect.Delay.GetMax().AsDuration()}.String()
	case *nodeapi.Fault_Hang:
		text = "hang"
	case *nodeapi.Fault_Crash:
		text, after = "crash", effect.Crash.GetAfter()
	}
	if after {
		text += " after"
	}
	return text
}
