// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// iscsiOf returns the disk of a volume, or false if it is not at an iSCSI target. Kubelet unstages a volume by its id
// alone, so the id says where it is: ADDRESS:PORT,IQN,LUN.
func iscsiOf(volumeID string) (disk mounter.ISCSIDisk, ok bool) {
	parts := strings.Split(volumeID, ",")
	if len(parts) != 3 {
		return disk, false
	}
	host, port, hostErr := net.SplitHostPort(parts[0])
	number, portErr := strconv.ParseUint(port, 10, 16)
	lun, lunErr := strconv.ParseUint(parts[2], 10, 32)
	if hostErr != nil || portErr != nil || lunErr != nil {
		return disk, false
	}
	return mounter.ISCSIDisk{Address: host, Port: uint32(number), IQN: parts[1], LUN: uint32(lun)}, true
}
