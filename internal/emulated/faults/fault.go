// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A Fault disturbs the calls of one kernel function or of API methods: either Function or Method is set, and exactly
// one of the effects.
type Fault struct {
	Function string // as in kernel.Call; Set.Add takes it in any case
	Code     uint32 // the control code or information class; 0: any
	Object   string // a part of the object, in any case; empty: any

	Method string // a mask of API methods, see policy.ParseMask

	Skip  int // how many such calls pass first
	Times int // how many are then disturbed; 0: all

	Error  win32.Errno // a kernel call fails with it
	Status APIError    // an API call fails with it
	Cut    bool        // the connection of an API call is cut
	Delay  Delay       // the call waits first
	Hang   bool        // the call waits until the fault is removed
	Crash  bool        // the process dies

	After bool // Error, Status, Cut, Hang and Crash: the call takes effect first
}

// An APIError is the gRPC status of an API call that fails. The zero value is none.
type APIError struct {
	Code    codes.Code
	Message string
	Reason  string // of the google.rpc.ErrorInfo; empty: none is sent
}

// Err returns the status as a call's error.
func (s APIError) Err() error {
	made := status.New(s.Code, s.Message)
	if s.Reason != "" {
		made, _ = made.WithDetails(&errdetails.ErrorInfo{Domain: "csi-proxy", Reason: s.Reason}) // it fails for OK alone
	}
	return made.Err()
}

var (
	// ErrInvalid is in the chain of every error of Check.
	ErrInvalid = errors.New("impossible fault")
	// ErrNoCrash means that the process does not belong to the node alone.
	ErrNoCrash = errors.New("the agent is part of another process and cannot crash alone")
)

// Check returns an ErrInvalid that names the mistake in a fault: one that could never take effect would let a test pass
// for no reason.
func (f Fault) Check() error {
	problem := f.problem()
	if problem == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInvalid, problem)
}

func (f Fault) problem() string {
	effects := 0
	for _, set := range []bool{f.Error != 0, f.Status != APIError{}, f.Cut, f.Delay != Delay{}, f.Hang, f.Crash} {
		if set {
			effects++
		}
	}
	_, _, unknown := ParseCalls(f.Function, f.Method)
	switch {
	case (f.Function == "") == (f.Method == ""):
		return "it needs a kernel function or an API method"
	case unknown != nil:
		return unknown.Error()
	case f.Method != "" && (f.Code != 0 || f.Object != ""):
		return "API calls have no control code and no object"
	case effects != 1:
		return fmt.Sprintf("it has %d effects, not one: fail, status, cut, delay, hang or crash", effects)
	case f.Method != "" && f.Error != 0:
		return "an API call fails with a gRPC status; Win32 errors are for kernel calls"
	case f.Function != "" && (f.Cut || f.Status != (APIError{})):
		return "only API calls have a gRPC status and a connection"
	case f.Status != (APIError{}) && (f.Status.Code == codes.OK || f.Status.Code > codes.Unauthenticated):
		return fmt.Sprintf("there is no gRPC error code %d", f.Status.Code)
	case f.Skip < 0 || f.Times < 0:
		return "its counts must not be negative"
	case f.After && f.Delay != Delay{}:
		return "a delay cannot come after the call"
	}
	return f.Delay.problem()
}

// matches reports whether the fault is for a kernel call.
func (f Fault) matches(call kernel.Call) bool {
	return f.Function == call.Function && (f.Code == 0 || f.Code == call.Code) &&
		(f.Object == "" || strings.Contains(strings.ToLower(call.Object), strings.ToLower(f.Object)))
}
