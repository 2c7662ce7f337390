// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// A Disk describes a disk to attach.
type Disk struct {
	// SizeBytes is its size: at least 4 MiB, in whole sectors of 512 bytes.
	SizeBytes int64
	// SerialNumber is what the disk reports, in ASCII; empty: none.
	SerialNumber string
	// Page83 is the T10 vendor identification in vital product data page 0x83, in ASCII; empty: none.
	Page83 string
	// NVMe makes it an NVMe disk instead of a SCSI one.
	NVMe bool
	// Adapter, Bus and Target are the SCSI address without the LUN, for which the lowest free one is taken.
	Adapter, Bus, Target uint8
	// Offline makes the disk arrive offline.
	Offline bool
	// ReadOnly makes the disk arrive read-only.
	ReadOnly bool
	// Formatted gives the disk a GPT with one NTFS volume, like a disk that has been in use. Its size is at least 64 MiB.
	Formatted bool
	// ImagePath is what DetachDisk returned, at this node or another, or else a file with the disk's content, which is
	// copied into the node. SizeBytes may be 0. Empty: the disk is blank.
	ImagePath string
	// BundlePath is the directory of a bundle, a disk with its identity and its files, which nodes use where it is, one at
	// a time. If there is nothing, a blank disk of SizeBytes is made there.
	BundlePath string
}

// AttachDisk attaches a disk, as a cloud does before a driver stages a volume. The disk gets the lowest free number and
// is visible at once.
func (n *Node) AttachDisk(d Disk) (number uint32) {
	n.t.Helper()
	if machine, is := n.machine.(realMachine); is {
		return n.attachReal(machine, d)
	}
	spec := bundle.Spec{
		SizeBytes: setting.Size(d.SizeBytes), SerialNumber: d.SerialNumber,
		Adapter: d.Adapter, Bus: d.Bus, Target: d.Target, LUNAuto: true, Offline: d.Offline,
		ReadOnly: d.ReadOnly, Formatted: setting.Formatted(d.Formatted), ImagePath: d.ImagePath, BundlePath: d.BundlePath,
	}
	if d.NVMe {
		spec.BusType = win32.BusTypeNvme
	}
	if d.Page83 != "" {
		spec.Identifiers = []win32.StorageIdentifier{{
			CodeSet: win32.StorageIdCodeSetAscii, Type: deviceside.StorageIdTypeVendorId,
			Association: win32.StorageIdAssocDevice, Identifier: []byte(d.Page83),
		}}
	}
	number, err := n.node().AttachDisk(spec)
	n.must("attaching a disk", err)
	return number
}

// DetachDisk pulls a disk out, whatever uses it. The image can be attached again, to this node or another, and brings
// the disk's identity and its files along: the directory that it is in is the disk's bundle.
func (n *Node) DetachDisk(number uint32) (imagePath string) {
	n.t.Helper()
	imagePath, err := n.machine.DetachDisk(number)
	n.must("detaching a disk", err)
	return imagePath
}

// GrowDisk makes a disk larger, as a cloud does before a driver expands a volume.
func (n *Node) GrowDisk(number uint32, sizeBytes int64) {
	n.t.Helper()
	n.must("growing a disk", n.machine.GrowDisk(number, sizeBytes))
}

// SetDiskOnline takes a disk online or offline behind the driver's back.
func (n *Node) SetDiskOnline(number uint32, online bool) {
	n.t.Helper()
	n.must("setting a disk's state", n.machine.SetDiskOnline(number, online))
}

// SetDiskReadOnly makes a disk read-only or writable behind the driver's back.
func (n *Node) SetDiskReadOnly(number uint32, readOnly bool) {
	n.t.Helper()
	n.must("setting a disk's state", n.machine.SetDiskReadOnly(number, readOnly))
}

// Reboot restarts the node: running calls are cut off, and state that does not survive a reboot is gone. When it
// returns, the agent serves again, and connected clients can go on: it has waited, a second at most, until they closed
// their connections. A client that tried a call meanwhile may still fail with UNAVAILABLE; on Windows, where nothing
// waits, so may the first call of any client that was connected, as if the reboot had cut it off.
func (n *Node) Reboot() {
	n.t.Helper()
	n.must("rebooting", n.emulation().Restart())
}

// HostPath returns the path on this machine of a Windows path of the node. Links and mount points are followed as by a
// process on the node; the last component may be missing. The result changes with later mounts and unmounts.
func (n *Node) HostPath(windowsPath string) string {
	n.t.Helper()
	hostPath, err := n.machine.HostPath(windowsPath)
	n.must("finding "+windowsPath, err)
	return hostPath
}

// WriteFile writes a file on the node, as a workload would.
func (n *Node) WriteFile(windowsPath, content string) {
	n.t.Helper()
	n.must("writing "+windowsPath, os.WriteFile(n.HostPath(windowsPath), []byte(content), 0o600))
}

// ReadFile reads a file on the node, as a workload would.
func (n *Node) ReadFile(windowsPath string) string {
	n.t.Helper()
	content, err := os.ReadFile(n.HostPath(windowsPath))
	n.must("reading "+windowsPath, err)
	return string(content)
}

// Readlink returns the target of a link or mount point.
func (n *Node) Readlink(windowsPath string) string {
	n.t.Helper()
	target, err := n.machine.Readlink(windowsPath)
	n.must("reading the link "+windowsPath, err)
	return target
}

func (n *Node) must(what string, err error) {
	n.t.Helper()
	if missing := machine.Unavailable(""); errors.As(err, &missing) {
		n.t.Skipf("%s: %v", what, err)
	}
	if err != nil {
		n.t.Fatalf("%s: %v", what, err)
	}
}

// DiskDigest returns a digest of a disk's content, which stays the same while no byte of the disk changes.
func (n *Node) DiskDigest(number uint32) string {
	n.t.Helper()
	image, err := n.node().DiskImage(number)
	n.must("finding the image of a disk", err)
	return Digest(n.t, image)
}

// Digest returns a digest of a file, such as the image of a detached disk. It covers nonzero bytes and their offsets,
// so written zeros and holes are the same.
func Digest(t testing.TB, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum, zeros := sha256.New(), make([]byte, 4096)
	err = hostfiles.EachData(f, func(at int64, data []byte) error {
		for block := range slices.Chunk(data, len(zeros)) {
			if !bytes.Equal(block, zeros[:len(block)]) {
				_, _ = fmt.Fprintf(sum, "%d:%x", at, block)
			}
			at += int64(len(block))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}
