// SPDX-License-Identifier: Apache-2.0

package windows

import "github.com/kubernetes-csi/csi-proxy/internal/testing/machine"

// initiatorService is the service of the iSCSI initiator.
const initiatorService = "MSiSCSI"

// A Share is a share that the node can map.
type Share = machine.Share

// A Target is an iSCSI target with one LUN.
type Target struct {
	Address      string
	Port         uint32
	IQN          string
	User, Secret string // CHAP
}

// Unavailable is the reason why something could not be tried on a machine.
type Unavailable = machine.Unavailable

// namePrefix begins the names of all that tests make on a machine.
const namePrefix = "csiproxy-"
