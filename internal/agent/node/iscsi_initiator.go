// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// passesWithin returns how long a code of iscsidsc.dll is waited out, 0 for one that does not pass. As seen or
// documented, a session is busy while another caller logs in or out. Its devices are in use right after a login, and
// while a virus scanner reads a disk. A buffer may be "too small" whatever its size: lists grow between two calls.
func passesWithin(code win32.Errno) time.Duration {
	switch code {
	case win32.ISDSC_SESSION_BUSY:
		return 10 * time.Second
	case win32.ISDSC_DEVICE_BUSY_ON_SESSION, win32.ERROR_INSUFFICIENT_BUFFER, win32.ISDSC_BUFFER_TOO_SMALL:
		return 5 * time.Second
	}
	return 0
}

// callISCSI calls the iSCSI initiator service, again while its error is one that passes. A warning that comes with
// success is only logged. The error says what was being done, as errdefs.Errorf's does.
func (o *op) callISCSI(f func() error, doing string, args ...any) error {
	waits := map[win32.Errno]*operation.Backoff{}
	for {
		err := f()
		var code win32.Errno
		switch {
		case err == nil:
			return nil
		case errors.As(err, &code) && code.IsISCSIWarning():
			o.log().Info("The iSCSI initiator service did what was asked, with a warning", "remark", err)
			return nil
		case waits[code] == nil:
			waits[code] = &operation.Backoff{}
		}
		if limit := passesWithin(code); limit == 0 || !waits[code].Wait(limit) {
			return o.failISCSI(err, doing, args...)
		}
	}
}

// listISCSI is callISCSI for a function that fills a buffer with structures, and parses these.
func listISCSI[T any](o *op, f func() ([]byte, int, error), parse func([]byte, int) ([]T, error), doing string,
	args ...any) (all []T, err error) {
	var b []byte
	var count int
	err = o.callISCSI(func() (err error) { b, count, err = f(); return err }, doing, args...)
	defer func() { clear(b) }() // secrets may follow the structures
	if err != nil {
		return nil, err
	}
	all, err = parse(b, count)
	return all, errdefs.Errorf(err, doing, args...)
}

// iscsiService is the Windows service for iSCSI.
const iscsiService = "MSiSCSI"

// failISCSI is errdefs.Errorf for calls of the initiator service. If that is not running, it names the service, and the
// reason is ServiceNotRunning.
func (o *op) failISCSI(err error, format string, args ...any) error {
	if !o.iscsiStopped(err) {
		return errdefs.Errorf(err, format, args...)
	}
	return errdefs.FailedPrecondition.WrapErrorf(err, reason.ServiceNotRunning,
		"%s: the service %s is not running on this node; start it with StartService",
		fmt.Sprintf(format, args...), iscsiService)
}

// iscsiStopped reports whether an error means that the initiator service is stopped. A failing RPC may mean that.
func (o *op) iscsiStopped(err error) bool {
	if errdefs.HasCode(err, win32.ISDSC_SERVICE_NOT_RUNNING, win32.ERROR_SERVICE_NOT_ACTIVE) {
		return true
	}
	if !errdefs.HasCode(err, win32.RPC_S_SERVER_UNAVAILABLE, win32.EPT_S_NOT_REGISTERED) {
		return false
	}
	service, err := o.kernel.QueryService(iscsiService)
	return err == nil && service.State == win32.SERVICE_STOPPED
}
