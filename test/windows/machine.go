// SPDX-License-Identifier: Apache-2.0

package windows

// initiatorService is the service of the iSCSI initiator.
const initiatorService = "MSiSCSI"

// A Share is a share that the node can map.
type Share struct {
	Remote         string // \\server\share
	User, Password string
}

// A Target is an iSCSI target with one LUN.
type Target struct {
	Address      string
	Port         uint32
	IQN          string
	User, Secret string // CHAP
}

// GrownInPlace is how a disk grew that was there all the time.
const GrownInPlace = "in place"

// Unavailable is the reason why something could not be tried on a machine.
type Unavailable string

func (n Unavailable) Error() string { return string(n) }
