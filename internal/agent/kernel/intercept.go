// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Call describes one kernel call to interceptors.
type Call struct {
	Function string // the Kernel or Handle method: "DeviceIoControl", "SetVolumeMountPoint"
	Object   string // the path that was passed to the call or that opened its handle; never a secret
	Code     uint32 // the control code or information class, 0 where there is none
	Argument string // a further object: a volume, a file system; never a secret
	// the number, from 1, of the object among those that an operation asks side by side; 0: it asks no other
	Part  int
	Input []byte // of a control code or an information class; may be read until the call returns
	// the parameters that have no field of their own, in order, with the length of an output buffer; never a secret
	Parameters []any
	// returns what the call returned, after it; nil: it returns an error only, or a handle. It may hold secrets, and
	// its bytes are the caller's once the interceptor returns.
	Output func() any
}

// An Array is the Output of a call that returns count structures.
type Array struct {
	Bytes []byte
	Count int
}

// Space is the Output of DiskFreeSpace, in bytes.
type Space struct{ Total, Free uint64 }

// Interceptor wraps every kernel call: it may observe, wait, fail instead of calling do, or fail after it. The context
// is that of the RPC on whose behalf the call is made; it does not cancel the call.
type Interceptor func(ctx context.Context, call Call, do func() error) error

// Chain combines interceptors; the first is outermost. Nil ones are skipped; without any, Chain returns nil.
func Chain(interceptors ...Interceptor) Interceptor {
	var chain Interceptor
	for i := len(interceptors) - 1; i >= 0; i-- {
		outer, inner := interceptors[i], chain
		switch {
		case outer == nil:
		case inner == nil:
			chain = outer
		default:
			chain = func(ctx context.Context, call Call, do func() error) error {
				return outer(ctx, call, func() error { return inner(ctx, call, do) })
			}
		}
	}
	return chain
}

//go:generate go run ../../../hack/mkintercept

// Intercept returns k with every call passing through the interceptor, also the calls on handles that it opens, after a
// check before each call except Close. The check's error is the call's error. Both may be nil.
func Intercept(ctx context.Context, k Kernel, check func() error, interceptor Interceptor) Kernel {
	return &intercepted{ctx: ctx, kernel: k, check: check, around: interceptor}
}

type intercepted struct {
	ctx    context.Context //nolint:containedctx // the value lives exactly as long as the call it is bound to
	kernel Kernel
	check  func() error // may be nil
	around Interceptor  // may be nil
}

func (k *intercepted) call(call Call, f func() error) error {
	if k.check != nil {
		if err := k.check(); err != nil {
			return err
		}
	}
	if k.around == nil {
		return f()
	}
	return k.around(k.ctx, call, f)
}

// returned makes a call that returns a value.
func returned[T any](k *intercepted, call Call, f func() (T, error)) (value T, err error) {
	call.Output = func() any { return value }
	err = k.call(call, func() (err error) { value, err = f(); return err })
	return value, err
}

func (k *intercepted) OpenFile(dir Handle, name string, how OpenOptions) (Handle, error) {
	object := name
	if d, ok := dir.(*interceptedHandle); ok {
		dir, object = d.handle, ObjectIn(d.object, name)
	}
	return k.open(Call{Function: "OpenFile", Object: object, Parameters: []any{how}},
		func() (Handle, error) { return k.kernel.OpenFile(dir, name, how) })
}

// open closes the handle if the interceptor fails the call after it took effect: no caller could.
func (k *intercepted) open(call Call, open func() (Handle, error)) (Handle, error) {
	var h Handle
	err := k.call(call, func() (err error) { h, err = open(); return err })
	if err != nil {
		if h != nil {
			_ = h.Close()
		}
		return nil, err
	}
	return &interceptedHandle{k: k, handle: h, object: call.Object}, nil
}

// portalName names a portal for interceptors.
func portalName(portal []byte) string {
	p, err := win32.ParseISCSITargetPortal(portal)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(p.Address, strconv.Itoa(int(p.Socket)))
}

// sessionName names a session as Windows' own tools do.
func sessionName(s win32.ISCSIUniqueID) string {
	return fmt.Sprintf("%x-%x", s.AdapterUnique, s.AdapterSpecific)
}

type interceptedHandle struct {
	k      *intercepted
	handle Handle
	object string
}

func (h *interceptedHandle) Rename(dir Handle, name string) error {
	to := name
	if d, ok := dir.(*interceptedHandle); ok {
		dir, to = d.handle, ObjectIn(d.object, name)
	}
	return h.k.call(Call{Function: "Rename", Object: h.object, Argument: to},
		func() error { return h.handle.Rename(dir, name) })
}

// Close is not intercepted: it must always happen, and no caller can do anything about a failure. It may take long.
func (h *interceptedHandle) Close() error { return h.handle.Close() }
