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
	errVolumeGone = win32.ERROR_NO_SUCH_DEVICE // the disk was pulled or went offline
	errDismounted = win32.ERROR_FILE_INVALID   // the file system was dismounted, perhaps by a format
	errRebooted   = win32.ERROR_INVALID_HANDLE // the node was restarted
)

// failed returns the error of a kernel call. An error of the host's file system is translated to a Win32 code; trouble
// of the host is named besides, which no disk of the node has. Nil stays nil.
func failed(function, object string, err error) error {
	if err == nil {
		return nil
	}
	var done *kernel.Error
	if errors.As(err, &done) {
		return err
	}
	e := &kernel.Error{Function: function, Object: object, Code: hostfiles.Code(err)}
	if e.Code != win32.ERROR_DISK_FULL && e.Code != win32.ERROR_IO_DEVICE || errors.As(err, new(win32.Errno)) {
		return e
	}
	return fmt.Errorf("%w, because of the host that emulates this node: %v", e, err) //nolint:errorlint // not one of Windows'
}

// mu guards the node, its disks, volumes and open files, and the state directory. Every entry from outside takes it
// once, by call or control, until the call ends; everything inside relies on it. Two give it away in between:
// content.fileBytes, while it looks at the files of a volume, and wait, while time passes.

// call runs a kernel call. Its error names the function and the object.
func (n *Node) call(function, object string, run func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return failed(function, object, run())
}

// called is call for one that has an answer, which is the zero value beside an error.
func called[T any](n *Node, function, object string, run func() (T, error)) (T, error) {
	var answer, none T
	err := n.call(function, object, func() (err error) {
		answer, err = run()
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

// control runs a change from outside of the node: by its hardware, its network or an administrator. Afterwards handles
// on objects that are gone are invalid.
func (n *Node) control(change func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.retireGone()
	return change()
}
