// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A fault is the message of one, and what its texts mean.
type fault struct {
	*api.Fault // as it was added, with functions and codes by their names

	mask        policy.Mask   // of the API methods
	code        uint32        // the control code or information class; 0: any
	fail        win32.Errno   // 0: none
	status      codes.Code    // OK: none
	least, most time.Duration // of the delay
}

var (
	// ErrInvalid is in the chain of every error of Check.
	ErrInvalid = errdefs.InvalidArgument.Errorf("INVALID_FAULT", "impossible fault")
	// ErrNoCrash means that the process does not belong to the node alone.
	ErrNoCrash = errors.New("the agent is part of another process and cannot crash alone")
)

// Check returns an ErrInvalid that names the mistake in a fault: one that could never take effect would let a test pass
// for no reason.
func Check(m *api.Fault) error {
	_, err := parse(m)
	return err
}

// parse reads a fault. Errors: those of Check.
func parse(m *api.Fault) (fault, error) {
	f := fault{Fault: &api.Fault{}}
	proto.Merge(f.Fault, m)
	var err [5]error
	f.Function, f.mask, err[0] = ParseCalls(m.GetFunction(), m.GetMethod())
	if m.GetControlCode() != "" {
		f.code, err[1] = ParseControlCode(m.GetControlCode())
		f.ControlCode = win32.ControlCodeName(f.code)
	}
	if m.GetFail() != "" {
		f.fail, err[2] = ParseErrno(m.GetFail())
		f.Fail = cmp.Or(f.fail.Name(), strconv.Itoa(int(f.fail)))
	}
	if m.GetStatus() != "" {
		f.status, err[3] = parseStatus(m.GetStatus())
		f.Status = code.Code(f.status).String()
	}
	if m.GetDelay() != "" {
		f.least, f.most, err[4] = parseDelay(m.GetDelay())
	}
	if err := cmp.Or(err[:]...); err != nil {
		return f, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if problem := f.problem(); problem != "" {
		return f, fmt.Errorf("%w: %s", ErrInvalid, problem)
	}
	return f, nil
}

func (f fault) problem() string {
	effects := 0
	for _, set := range []bool{f.fail != 0, f.status != codes.OK, f.Cut, f.Delay != "", f.Hang, f.Crash} {
		if set {
			effects++
		}
	}
	switch {
	case (f.Function == "") == (f.Method == ""):
		return "it needs a kernel function or an API method"
	case f.Method != "" && (f.code != 0 || f.Object != ""):
		return "API calls have no control code and no object"
	case effects != 1:
		return fmt.Sprintf("it has %d effects, not one: fail, status, cut, delay, hang or crash", effects)
	case f.Method != "" && f.fail != 0:
		return "an API call fails with a gRPC status; Win32 errors are for kernel calls"
	case f.Function != "" && (f.Cut || f.status != codes.OK):
		return "only API calls have a gRPC status and a connection"
	case f.status == codes.OK && f.Message+f.Reason != "":
		return "a message and a reason are those of a status"
	case f.AfterEffect && f.Delay != "":
		return "a delay cannot come after the call"
	}
	return ""
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

// maxDelay is the longest delay. For anything longer there is Fault.Hang.
const maxDelay = time.Hour

// parseDelay reads a duration, "20ms", or the limits of a random one, "10ms-2s".
func parseDelay(text string) (least, most time.Duration, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	if least, err = time.ParseDuration(from); err == nil {
		most, err = time.ParseDuration(to)
	}
	if err != nil || least < 0 || most < least || most == 0 || most > maxDelay {
		return 0, 0, fmt.Errorf("%q is not a delay, such as 20ms or 10ms-2s, of at most %v", text, maxDelay)
	}
	return least, most, nil
}

// delay returns how long a call waits.
func (f fault) delay() time.Duration {
	return f.least + rand.N(f.most-f.least+1) //nolint:gosec // it need not be unpredictable
}

// statusError returns the status with which an API call fails.
func (f fault) statusError() error {
	made := status.New(f.status, f.Message)
	if f.Reason != "" {
		made, _ = made.WithDetails(&errdetails.ErrorInfo{Domain: "csi-proxy", Reason: f.Reason}) // it fails for OK alone
	}
	return made.Err()
}

// matches reports whether the fault is for a kernel call.
func (f fault) matches(call kernel.Call) bool {
	return f.Function == call.Function && (f.code == 0 || f.code == call.Code) &&
		(f.Object == "" || strings.Contains(strings.ToLower(call.Object), strings.ToLower(f.Object)))
}

// holds reports whether the fault makes calls wait.
func (f fault) holds() bool { return f.Hang || f.Delay != "" }

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
