// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// mountManager is the open mount manager as a device.
type mountManager struct{ device }

// DeviceIoControl implements kernel.Handle.
func (h *mountManager) DeviceIoControl(code uint32, in, _ []byte) (int, error) {
	return h.control(code, func() (int, error) {
		if code != win32.IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED {
			return 0, win32.ERROR_INVALID_FUNCTION
		}
		gone, err := parsed(win32.ParseVolumeMountPoint(in))
		if err != nil {
			return 0, err
		}
		return 0, h.node.forgetMountAt(gone.Path)
	})
}

// forgetMountAt drops the record of a mount point that its remover tells the mount manager of.
func (n *Node) forgetMountAt(path string) error {
	rest, ok := strings.CutPrefix(path, `\DosDevices\`)
	if !ok {
		return win32.ERROR_INVALID_PARAMETER
	}
	p, err := parseObject(rest)
	if err != nil {
		return err
	}
	h, err := n.openMountPoint(p, path, win32.FILE_READ_ATTRIBUTES, shareAll)
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	return h.forgetMount(nil)
}
