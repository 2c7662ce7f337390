// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/staging"
	"github.com/kubernetes-csi/csi-proxy/client/stepwise"
)

// The types that a Mounter takes and returns, from the packages stepwise and staging of the client.
type (
	// A Disk is one disk of the node, as drivers recognise it.
	Disk = stepwise.Disk
	// A Match picks disks of a node by what a cloud or a storage system knows of them.
	Match = stepwise.Match
	// StageOptions adjust StageDisk. The zero value stages a volume to be written.
	StageOptions = stepwise.StageOptions
	// Access is what an account may do in the root directory of a new volume and in all that is made there later.
	Access = stepwise.Access
	// Rights are a set of rights. The zero value is not valid.
	Rights = stepwise.Rights
	// AccessResult is what became of StageOptions.Access. The zero value: nothing was asked for, or the volume is staged
	// read-only.
	AccessResult = stepwise.AccessResult
	// An ISCSIDisk is a logical unit of an iSCSI target.
	ISCSIDisk = staging.ISCSIDisk
	// CHAP is how a node and an iSCSI target prove themselves to each other. The zero value means no authentication.
	CHAP = staging.CHAP
	// A Device is a volume and the disk that it lies on.
	Device = stepwise.Device
	// A Size is the size of a volume, in bytes.
	Size = stepwise.Size
	// Usage is the usage of a volume's file system, in bytes.
	Usage = stepwise.Usage
	// A Condition is what CSI calls VolumeCondition.
	Condition = stepwise.Condition
	// Shares keeps one mapping of each SMB share for all volumes of the node that use it.
	Shares = staging.Shares
	// A ShareStatus is how a staged share is.
	ShareStatus = staging.ShareStatus
	// Credentials are the credentials for an SMB server.
	Credentials = stepwise.Credentials
)

// The sets of rights, with the names that icacls has for them: RX, M and F.
const (
	RightsRead   = stepwise.RightsRead
	RightsModify = stepwise.RightsModify
	RightsFull   = stepwise.RightsFull
)

// The values of AccessResult.
const (
	AccessAdded    = stepwise.AccessAdded
	AccessPresent  = stepwise.AccessPresent
	AccessNotAdded = stepwise.AccessNotAdded
)

// The kinds of failures of the steps. Those of the agent's calls are package csiproxy's.
var (
	// ErrAmbiguous: several disks match where only one is expected, or the disk has several data volumes.
	ErrAmbiguous = csiproxy.ErrAmbiguous
	// ErrDiskTooSmall: Windows does not see the size that a volume is to have.
	ErrDiskTooSmall = csiproxy.ErrDiskTooSmall
	// ErrNotFormatted: a volume that is staged read-only has no file system.
	ErrNotFormatted = csiproxy.ErrNotFormatted
	// ErrNearlyFull is the cause of the condition of a volume with less than a twentieth and less than 1 GiB available.
	ErrNearlyFull = csiproxy.ErrNearlyFull
	// ErrNotStaged: no share is staged at the path.
	ErrNotStaged = stepwise.ErrNotStaged
)

// Where returns a match of a driver's own. The phrase what is for errors, such as "LUN 3".
func Where(what string, fits func(Disk) bool) Match { return stepwise.Where(what, fits) }

// ByNumber picks the disk with a number, which changes when disks come and go.
func ByNumber(number uint32) Match { return stepwise.ByNumber(number) }

// ByLUN picks disks by their logical unit number, on any bus that has one: see ByAzureLUN and ByISCSI.
func ByLUN(lun uint32) Match { return stepwise.ByLUN(lun) }

// ByAzureLUN picks the disk that Azure attached with a LUN; see stepwise.ByAzureLUN for how it is told from others.
func ByAzureLUN(lun uint32) Match { return stepwise.ByAzureLUN(lun) }

// ByModel picks disks by their whole model, for a machine's local disks: "Amazon EC2 NVMe Instance Storage". The agent
// looks for the disk when it stages; see stepwise.ByModel.
func ByModel(model string) Match { return stepwise.ByModel(model) }

// BySerialNumber picks disks whose serial number contains a text, in upper or lower case.
func BySerialNumber(part string) Match { return stepwise.BySerialNumber(part) }

// ByPage83 picks disks by the whole page 83h identifier.
func ByPage83(id string) Match { return stepwise.ByPage83(id) }

// ByEBSVolume picks the disk of an EBS volume by the volume's id, such as vol-0123456789abcdef0.
func ByEBSVolume(volumeID string) Match { return stepwise.ByEBSVolume(volumeID) }

// ByGCEDevice picks the SCSI disk of Compute Engine that was attached with a device name. For NVMe see ByEUI64.
func ByGCEDevice(name string) Match { return stepwise.ByGCEDevice(name) }

// ByEUI64 picks the NVMe disk whose namespace has an EUI-64, such as Compute Engine's nvmeNamespaceIdentifier.
func ByEUI64(id uint64) Match { return stepwise.ByEUI64(id) }

// ByVSphereUUID picks the virtual disk of vSphere with a UUID, such as 6000C29a-98d0-5e38-4a43-f0ef189aaf5a.
func ByVSphereUUID(uuid string) Match { return stepwise.ByVSphereUUID(uuid) }

// ByISCSI picks the logical unit of an iSCSI target to which the node is connected. Address and port are those of the
// portal; port 0 is 3260.
func ByISCSI(address string, port uint32, iqn string, lun uint32) Match {
	return stepwise.ByISCSI(address, port, iqn, lun)
}

// ByBlankSize picks disks of exactly this size, in bytes, that have no partition table, for labs whose disks have no
// other marks. Once the disk is staged it is not blank any more.
func ByBlankSize(bytes int64) Match { return stepwise.ByBlankSize(bytes) }
