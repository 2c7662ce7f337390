// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// ErrSystemDisk means that the disk of the running Windows cannot be detached or taken offline.
var ErrSystemDisk = errors.New("disk 0 is the system disk")

// The errors of handles whose object is gone. The names give the reason.
const (
	errVolumeGone = win32.ERROR_NO_SUCH_DEVICE  // the disk was pulled or went offline
	errDismounted = win32.ERROR_FILE_INVALID    // the file system was dismounted, perhaps by a format
	errRebooted   = win32.ERROR_INVALID_HANDLE  // the node was restarted
	errShareGone  = win32.ERROR_NETNAME_DELETED // the server or the session with it is gone
)

// failed returns the error of a kernel call. An error of the host's file system is translated to a Win32 code; trouble
// of the host is named besides, which no disk of the node has. Nil stays nil.
func failed(function, object string, err error) error {
	if err == nil {
		return nil
	}
	e := &kernel.Error{Function: function, Object: object, Code: hostfiles.Code(err)}
	if e.Code != win32.ERROR_DISK_FULL && e.Code != win32.ERROR_IO_DEVICE || errors.As(err, new(win32.Errno)) {
		return e
	}
	return fmt.Errorf("%w, because of the host that emulates this node: %v", e, err) //nolint:errorlint // not one of Windows'
}

// mu guards the node, its disks, volumes and open files, and the state directory. Every entry from outside takes it
// once, by call or control, until the call ends; everything inside relies on it. Only content.fileBytes gives it away
// in between, while it looks at the files of a volume.

// call begins a kernel call and returns its end, for a defer. The end makes the error name the function and the object.
func (n *Node) call(function, object string, err *error) (end func()) {
	n.mu.Lock()
	return func() {
		defer n.mu.Unlock()
		*err = failed(function, object, *err)
	}
}

// control begins a change from outside of the node: by its hardware, its network or an administrator. Its end, for a
// defer, makes handles on objects that are gone invalid.
func (n *Node) control() (end func()) {
	n.mu.Lock()
	return func() {
		defer n.mu.Unlock()
		n.retireGone()
	}
}
