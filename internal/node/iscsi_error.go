// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// iscsiService is the Windows service for iSCSI.
const iscsiService = "MSiSCSI"

// failISCSI is fail for calls of the initiator service; it names the service when that is not running.
func (o *op) failISCSI(err error, format string, args ...any) error {
	if !o.iscsiStopped(err) {
		return errdefs.Errorf(err, format, args...)
	}
	return errdefs.FailedPrecondition.WrapErrorf(err, reason.ServiceNotRunning,
		"%s: the service %s is not running on this node; start it with StartService",
		fmt.Sprintf(format, args...), iscsiService)
}

// iscsiStopped reports whether an error comes from the initiator service being stopped. A failing RPC can mean that, or
// that the service does not answer just now.
func (o *op) iscsiStopped(err error) bool {
	if errdefs.HasCode(err, win32.ISDSC_SERVICE_NOT_RUNNING, win32.ERROR_SERVICE_NOT_ACTIVE) {
		return true
	}
	if !errdefs.HasCode(err, win32.RPC_S_SERVER_UNAVAILABLE, win32.EPT_S_NOT_REGISTERED) {
		return false
	}
	service, err := o.Kernel.QueryService(iscsiService)
	return err == nil && service.State == win32.SERVICE_STOPPED
}
