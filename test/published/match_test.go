// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestMatches: each cloud's mark finds one disk among those that users of that cloud posted (the profiles name the
// threads), and what looks alike finds none.
func TestMatches(t *testing.T) {
	const none = ^uint32(0)
	for profile, cases := range map[string][]struct {
		match mounter.Match
		disk  uint32
	}{
		"aws-ebs-nvme": {
			{mounter.ByEBSVolume("vol-0123456789abcdef0"), 1},
			{mounter.ByEBSVolume("vol-0123456789abcdef1"), 2},
			{mounter.ByEBSVolume("VOL0123456789ABCDEF1"), 2},
			{mounter.ByEBSVolume("vol-01234567"), none},
			{mounter.ByGCEDevice("vol0123456789abcdef1_00000001."), none},
		},
		"aws-ebs-xen": {{mounter.ByEBSVolume("vol-0fedcba9876543211"), 2}},
		"azure": {{mounter.ByLUN(1), 3}, {mounter.ByAzureLUN(0), 2}, {mounter.ByAzureLUN(1), 3},
			{mounter.ByAzureLUN(2), none}},
		"azure-gen1": {{mounter.ByLUN(0), 2}, {mounter.ByAzureLUN(0), 2}, {mounter.ByAzureLUN(1), 3}},
		// only the agent finds these by LUN: TestStageByDevice
		"azure-nvme": {{mounter.ByLUN(0), none}, {mounter.ByAzureLUN(0), none}, {mounter.ByAzureLUN(1), none}},
		"gce-pd-scsi": {
			{mounter.ByGCEDevice("pvc-6f0d5b1e-93a7-4c28-8d14-b7e2a05c9f37"), 2},
			{mounter.ByGCEDevice("Google"), none},
			{mounter.ByGCEDevice("9f37"), none},
		},
		"gce-pd-nvme": {{mounter.ByEUI64(0xe3f02b7194da5c08), 2}, {mounter.ByEUI64(0xe3f02b7194da5c09), none}},
		"vsphere": {{mounter.ByVSphereUUID("6000C294-e9da-4137-7ffb-eda45b97abeb"), 2},
			{mounter.ByVSphereUUID("6000C294-e9da-4137-7ffb-eda45b97abec"), none}},
	} {
		m := mounter.New(csiproxytest.Start(t, csiproxytest.Options{Scenario: profile}).InProcess())
		for _, c := range cases {
			d, err := m.FindDisk(t.Context(), c.match)
			switch {
			case c.disk != none && (err != nil || d.Number != c.disk):
				t.Errorf("%s, %s: disk %d, %v, want %d", profile, c.match, d.Number, err, c.disk)
			case c.disk == none && (!errors.Is(err, csiproxy.ErrDiskNotFound) ||
				!strings.Contains(err.Error(), c.match.String())):
				t.Errorf("%s, %s: disk %d, %v, want ErrDiskNotFound and what was looked for", profile, c.match, d.Number, err)
			}
		}
	}
}

// TestStageByDevice: an agent that serves nodesteps finds Azure's NVMe disks by their LUN, and local disks by their
// model, as Windows gives it: whole or 16 characters of it. Other agents do not, and say so.
func TestStageByDevice(t *testing.T) {
	t.Parallel()
	const instanceStore = "Amazon EC2 NVMe Instance Storage"
	for profile, cases := range map[string][]struct {
		match mounter.Match
		disk  uint32
	}{
		"azure-nvme": {{mounter.ByAzureLUN(0), 2}, {mounter.ByAzureLUN(1), 3},
			{mounter.ByModel("microsoft nvme direct disk v2"), 1}},
		"aws-ebs-nvme": {{mounter.ByModel(instanceStore), 3}},
	} {
		for _, numbered := range []bool{false, true} {
			s, err := emulated.LoadScenario(profile)
			check(t, "loading the profile", err)
			s.Switches.NVMeLUNsNumbered = numbered
			n := startScenario(t, &s)
			m := mounter.New(n.Client())
			for _, c := range cases {
				device, err := m.StageDisk(t.Context(), c.match, staging+fmt.Sprint(c.disk), mounter.StageOptions{})
				if err != nil || device.Disk != c.disk {
					t.Errorf("%s, numbered %t, %s: disk %d, %v, want %d", profile, numbered, c.match, device.Disk, err, c.disk)
				}
				check(t, "unstaging it", m.UnstageDisk(t.Context(), c.match, staging+fmt.Sprint(c.disk)))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err = m.StageDisk(ctx, mounter.ByAzureLUN(2), staging, mounter.StageOptions{})
			cancel()
			if !errors.Is(err, csiproxy.ErrDiskNotFound) {
				t.Errorf("%s: a LUN that no disk has: %v, want ErrDiskNotFound", profile, err)
			}
		}
	}
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: "azure-nvme"})
	m := mounter.New(n.Client())
	_, err := m.StageDisk(t.Context(), mounter.ByModel("MSFT NVMe Accelerator v1.0"), staging, mounter.StageOptions{})
	if !errors.Is(err, csiproxy.ErrAmbiguous) {
		t.Errorf("a model that several disks have: %v, want ErrAmbiguous", err)
	}
	if _, err := m.FindDisk(t.Context(), mounter.ByModel(instanceStore)); !errors.Is(err, csiproxy.ErrUnsupported) {
		t.Errorf("looking for a model without the agent's steps: %v, want ErrUnsupported", err)
	}
}

// TestMatchArguments: a match that cannot be meant fails at once, where one for a disk that has yet to come would wait.
func TestMatchArguments(t *testing.T) {
	_, m := start(t)
	for _, match := range []mounter.Match{
		{}, mounter.BySerialNumber(""), mounter.ByPage83(""), mounter.ByEBSVolume(""), mounter.ByEBSVolume("snap-0123"),
		mounter.ByModel(" "), mounter.ByGCEDevice(""), mounter.ByGCEDevice("two words"), mounter.ByVSphereUUID("6000C294"), mounter.ByEUI64(0),
	} {
		if _, err := m.WaitForDisk(t.Context(), match); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v, want fs.ErrInvalid", match, err)
		}
	}
}

// TestAmbiguousMatches: the error has what tells the candidates apart, and no other disk.
func TestAmbiguousMatches(t *testing.T) {
	n, m := start(t)
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "other", Adapter: 7})
	other := n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "another", Adapter: 8})
	_, err := m.WaitForDisk(t.Context(), mounter.ByLUN(0))
	if !errors.Is(err, mounter.ErrAmbiguous) {
		t.Fatalf("two disks with LUN 0: %v, want ErrAmbiguous", err)
	}
	for text, want := range map[string]bool{"other adapter 7": true, "another adapter 8": true, serial: false} {
		if strings.Contains(err.Error(), text) != want {
			t.Errorf("the error contains %q: %v, want %v: %v", text, !want, want, err)
		}
	}
	d, err := m.FindDisk(t.Context(),
		mounter.Where("LUN 0 at adapter 8", func(d mounter.Disk) bool { return d.LUN == "0" && d.Adapter == "8" }))
	if err != nil || d.Number != other {
		t.Errorf("with a match of its own the caller gets disk %d, %v, want %d", d.Number, err, other)
	}
}

// TestMatchISCSI: the logical unit is known by its target, while the node is connected.
func TestMatchISCSI(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{})
	c := n.InProcess()
	m, ctx := mounter.New(c), t.Context()
	portal := &iscsiapi.TargetPortal{TargetAddress: "192.0.2.10"}
	match := func(target string, lun uint32) mounter.Match {
		return mounter.ByISCSI("192.0.2.10", 0, "iqn.2026-01.emulated:"+target, lun)
	}
	_, err := c.ISCSI.AddTargetPortal(ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: portal})
	check(t, "adding the portal", err)
	_, err = c.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portal})
	check(t, "discovering", err)
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Adapter: 7}) // LUN 0 as well
	if _, err := m.FindDisk(ctx, match("open", 0)); !errors.Is(err, csiproxy.ErrDiskNotFound) {
		t.Errorf("before the login: %v, want ErrDiskNotFound", err)
	}
	_, err = c.ISCSI.ConnectTarget(ctx,
		&iscsiapi.ConnectTargetRequest{TargetPortal: portal, Iqn: "iqn.2026-01.emulated:open"})
	check(t, "connecting", err)
	d, err := m.WaitForDisk(ctx, match("open", 0))
	if err != nil || d.Adapter != "2" {
		t.Errorf("found the disk %s, %v, want one at adapter 2", d, err)
	}
	for name, other := range map[string]mounter.Match{"another LUN": match("open", 1),
		"another target": match("chap", 0)} {
		if _, err := m.FindDisk(ctx, other); !errors.Is(err, csiproxy.ErrDiskNotFound) {
			t.Errorf("%s: %v, want ErrDiskNotFound", name, err)
		}
	}
}

// TestMatchAzure: a disk of another storage system with the LUN is not taken for Azure's, neither beside it nor before
// it comes.
func TestMatchAzure(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	m := mounter.New(n.Client())
	attach := func(spec emulated.DiskSpec) uint32 {
		spec.SizeBytes, spec.LUN = 1<<30, 5
		number, err := n.emulated.AttachDisk(spec)
		check(t, "attaching a disk", err)
		return number
	}
	id := func(kind uint32, hexadecimal string) emulated.Identifiers {
		bytes, err := hex.DecodeString(hexadecimal)
		check(t, "reading an identifier", err)
		return emulated.Identifiers{{CodeSet: win32.StorageIdCodeSetBinary, Type: kind,
			Association: win32.StorageIdAssocDevice, Identifier: bytes}}
	}
	// Identifiers as of a Fibre Channel and an iSCSI storage system: 60A98000 is of NetApp, 6001405 of Linux' target.
	attach(emulated.DiskSpec{Adapter: 7, BusType: win32.BusTypeFibre,
		Identifiers: id(win32.StorageIdTypeFCPHName, "60a9800041764b6a6e5d4e5a6b4a4f31")})
	attach(emulated.DiskSpec{Adapter: 8, BusType: win32.BusTypeiScsi,
		Identifiers: id(win32.StorageIdTypeFCPHName, "60014055e1f2a4b0c6d48d1b93a7f20e")})
	if d, err := m.FindDisk(t.Context(), mounter.ByAzureLUN(5)); !errors.Is(err, csiproxy.ErrDiskNotFound) {
		t.Errorf("before Azure's disk comes, %s, %v is found", d, err)
	}
	for adapter, identifiers := range map[uint8]emulated.Identifiers{
		9:  id(win32.StorageIdTypeVendorId, "4d53465420202020b1943ea0c752864da7f0185d6be2c349"),
		10: id(win32.StorageIdTypeFCPHName, "60022480b1943ea0c752185d6be2c349"),
	} {
		want := attach(emulated.DiskSpec{Adapter: adapter, BusType: win32.BusTypeSas, Identifiers: identifiers})
		if d, err := m.FindDisk(t.Context(), mounter.ByAzureLUN(5)); err != nil || d.Number != want {
			t.Errorf("found %s, %v, want disk %d", d, err, want)
		}
		n.DetachDisk(want)
	}
}

// TestMatchBlank: in a lab the size must do, and a disk with anything on it is not picked.
func TestMatchBlank(t *testing.T) {
	n, m := start(t)
	match := mounter.ByBlankSize(3 << 30)
	if _, err := m.FindDisk(t.Context(), match); !errors.Is(err, csiproxy.ErrDiskNotFound) {
		t.Errorf("no disk of that size: %v, want ErrDiskNotFound", err)
	}
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 3 << 30, Formatted: true})
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 3 << 30, Offline: true})
	blank := n.AttachDisk(csiproxytest.Disk{SizeBytes: 3 << 30})
	if d, err := m.FindDisk(t.Context(), match); err != nil || d.Number != blank {
		t.Errorf("found disk %d, %v, want %d", d.Number, err, blank)
	}
	check(t, "staging it", m.MountDisk(t.Context(), blank, staging))
	if _, err := m.FindDisk(t.Context(), match); !errors.Is(err, csiproxy.ErrDiskNotFound) {
		t.Errorf("once it is in use: %v, want ErrDiskNotFound", err)
	}
}

// TestWaitForDisk: a disk that comes late is found, and the error of one that never comes says what there is instead.
func TestWaitForDisk(t *testing.T) {
	n, m := start(t)
	late := make(chan error, 1)
	go func() {
		_, err := m.WaitForDisk(t.Context(), mounter.BySerialNumber("late"))
		late <- err
	}()
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "late"})
	check(t, "waiting for a disk that comes", <-late)

	reached, release := n.Hang(csiproxytest.Calls{Method: "disk/Rescan"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := m.WaitForDisk(ctx, mounter.ByLUN(77))
		ended <- err
	}()
	<-reached
	cancel()
	err := <-ended
	release()
	if !errors.Is(err, context.Canceled) || !errors.Is(err, csiproxy.ErrDiskNotFound) ||
		!strings.Contains(err.Error(), serial) {
		t.Errorf("giving up: %v, want Canceled, ErrDiskNotFound and the node's disks", err)
	}
}
