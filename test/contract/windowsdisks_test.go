// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	olddisk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	olddiskclient "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	tableGPT = 0
	tableMBR = 1
)

// startChanged starts a node whose disks 1 and 2 are changed: both are formatted.
func startChanged(t *testing.T, change func(*scenario.Scenario)) *caller.Node {
	t.Helper()
	return caller.Scenario(t, func(s *scenario.Scenario) {
		s.Disks = []bundle.Spec{
			{SizeBytes: 1 << 30, LUN: 1, Formatted: true, SerialNumber: "one"},
			{SizeBytes: 1 << 30, LUN: 2, Formatted: true, SerialNumber: "two"},
		}
		change(s)
	})
}

// wantSpared: a volume is neither changed nor made reachable.
func wantSpared(t *testing.T, n *caller.Node, id string) {
	t.Helper()
	for _, err := range []error{n.FormatVolume(id), n.ResizeVolume(id, 0), n.MountVolume(id, staging)} {
		n.Refused(err, codes.FailedPrecondition, "SYSTEM_DISK")
	}
	if n.Exists(staging) {
		t.Error("a refused mount left its directory behind")
	}
}

// TestDisksThatWindowsNeeds: calls for such a disk or a volume on it are refused, and it has no LUN.
func TestDisksThatWindowsNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		number uint32
		change func(*scenario.Scenario)
	}{
		"it runs Windows":              {0, func(*scenario.Scenario) {}},
		"it runs Windows, with an MBR": {0, func(s *scenario.Scenario) { s.SystemDisk.Table = tableMBR }},
		"it runs Windows, which boots from another": {0,
			func(s *scenario.Scenario) { s.Disks[0].Boot, s.Disks[0].Adapter = true, 1 }},
		"it has a page file": {1, func(s *scenario.Scenario) {
			s.Disks[0].Letter, s.PageFiles = "E", []string{`C:\pagefile.sys`, `E:\pagefile.sys`}
		}},
		"it has a dedicated dump file": {1,
			func(s *scenario.Scenario) { s.Disks[0].Letter, s.DumpFile = "E", `e:\dedicated.sys` }},
		"Windows boots from it": {1,
			func(s *scenario.Scenario) { s.Disks[0].Boot, s.Disks[0].Adapter = true, 1 }},
		"Windows boots from it, with an MBR": {1, func(s *scenario.Scenario) {
			s.Disks[0].Boot, s.Disks[0].Table, s.Disks[0].Adapter = true, tableMBR, 1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			wantNeeded(t, startChanged(t, test.change), test.number)
		})
	}
	t.Run("Windows may boot from it", func(t *testing.T) {
		n := startChanged(t, func(s *scenario.Scenario) { s.Disks[0].Boot, s.Disks[0].Table = true, tableMBR })
		n.Attach(bundle.Spec{ImagePath: n.DetachDisk(1)}) // another disk now, so that the registry names none
		wantNeeded(t, n, 1)
	})
}

// wantNeeded checks that a disk and its volumes are left alone, and that disk 2 is not.
func wantNeeded(t *testing.T, n *caller.Node, number uint32) {
	t.Helper()
	for _, id := range n.Volumes(number) {
		wantSpared(t, n, id)
	}
	n.Refused(n.PartitionDisk(number), codes.FailedPrecondition, "SYSTEM_DISK")
	n.Refused(n.SetDiskState(number, false), codes.FailedPrecondition, "SYSTEM_DISK")
	n.OK(n.SetDiskState(number, true))
	wantLUN(t, n, number, "")
	n.OK(n.MountVolume(n.Volumes(2)[0], staging))
	n.OK(n.UnmountVolume(n.Volumes(2)[0], staging))
	wantLUN(t, n, 2, "2")
	n.OK(n.SetDiskState(2, false))
}

// TestUnreadableSystemUseRefusesChanges: while a drive with a page file does not say which disk it is on, no disk is
// taken offline. A drive that is not there has no page file.
func TestUnreadableSystemUseRefusesChanges(t *testing.T) {
	n := startChanged(t, func(s *scenario.Scenario) {
		s.Disks[0].Letter, s.PageFiles = "E", []string{`E:\pagefile.sys`, `Q:\pagefile.sys`}
	})
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS,
		Object: `\\.\E:`, Error: win32.ERROR_IO_DEVICE})
	for _, number := range []uint32{1, 2} {
		n.Code(n.SetDiskState(number, false), codes.Unavailable)
	}
	n.Faults.Release()
	n.Refused(n.SetDiskState(1, false), codes.FailedPrecondition, "SYSTEM_DISK")
	n.OK(n.SetDiskState(2, false))
}

func wantLUN(t *testing.T, n *caller.Node, number uint32, want string) {
	t.Helper()
	reply, err := n.ListDiskLocations()
	n.OK(err)
	location, ok := reply[number]
	if got := location.GetLUNID(); !ok || got != want {
		t.Errorf("disk %d has LUN %q (listed: %t), want %q", number, got, ok, want)
	}
}

// TestRecoveryPartition: Windows does not say where its recovery environment is, but the partition has a type.
func TestRecoveryPartition(t *testing.T) {
	for name, isRecovery := range map[string]func(*win32.Partition){
		"GPT": func(p *win32.Partition) { p.Type = win32.PartitionRecovery },
		"MBR": func(p *win32.Partition) { p.MBRType = 0x27 },
	} {
		t.Run(name, func(t *testing.T) {
			n := startChanged(t, func(s *scenario.Scenario) {
				s.Disks[0].Boot = true
				if name == "MBR" {
					s.Disks[0].Table = tableMBR
				}
			})
			driveLayout(t, n, 1, func(l *win32.DriveLayout) { isRecovery(&l.Partitions[0]); l.Partitions[0].Rewrite = true })
			n.Refused(n.SetDiskState(1, false), codes.FailedPrecondition, "SYSTEM_DISK", "a recovery environment is on")
			wantLUN(t, n, 1, "")
			wantSpared(t, n, n.Volumes(1)[0])
		})
	}
}

// TestVolumesThatMachinesStartFrom: a disk from which another machine starts may be used for its data.
func TestVolumesThatMachinesStartFrom(t *testing.T) {
	for name, table := range map[string]setting.Table{"EFI system partition": tableGPT, "active partition": tableMBR} {
		t.Run(name, func(t *testing.T) {
			n := caller.Start(t, testnode.Options{})
			number := n.Attach(bundle.Spec{Formatted: true, Boot: true, Table: table})
			ids := n.Volumes(number)
			start, data := ids[0], ids[1]
			if table == tableGPT { // data partitions come first
				start, data = data, start
			}
			wantSpared(t, n, start)
			n.OK(n.MountVolume(data, staging))
			n.OK(n.UnmountVolume(data, staging))
			wantLUN(t, n, number, "0")
			n.OK(n.SetDiskState(number, false))
		})
	}
}

// TestLUNsByBusAndAdapter: which disks have a LUN, and on which adapters.
func TestLUNsByBusAndAdapter(t *testing.T) {
	on := func(adapter uint8, busType setting.BusType) bundle.Spec {
		return bundle.Spec{SizeBytes: 1 << 30, Adapter: adapter, BusType: busType, LUN: 5}
	}
	for name, test := range map[string]struct {
		system, data bundle.Spec
		adapters     []scenario.Adapter
		want         string
	}{
		"SCSI":                        {on(0, win32.BusTypeScsi), on(1, win32.BusTypeScsi), nil, "5"},
		"Fibre Channel":               {on(0, win32.BusTypeSata), on(1, win32.BusTypeFibre), nil, "5"},
		"RAID":                        {on(0, win32.BusTypeSata), on(1, win32.BusTypeRAID), nil, "5"},
		"iSCSI":                       {on(0, win32.BusTypeSata), on(1, win32.BusTypeiScsi), nil, "5"},
		"SAS":                         {on(0, win32.BusTypeSata), on(1, win32.BusTypeSas), nil, "5"},
		"NVMe":                        {on(0, win32.BusTypeSata), on(1, win32.BusTypeNvme), nil, ""},
		"ATA":                         {on(0, win32.BusTypeScsi), on(1, win32.BusTypeAta), nil, ""},
		"SATA":                        {on(0, win32.BusTypeScsi), on(1, win32.BusTypeSata), nil, ""},
		"USB":                         {on(0, win32.BusTypeScsi), on(1, win32.BusTypeUsb), nil, ""},
		"virtual hard disk in a file": {on(0, win32.BusTypeScsi), on(1, win32.BusTypeFileBackedVirtual), nil, ""},
		"Storage Spaces":              {on(0, win32.BusTypeScsi), on(1, win32.BusTypeSpaces), nil, ""},
		"beside the system disk":      {on(0, win32.BusTypeSas), withLUN(on(0, win32.BusTypeSas), 6), nil, "6"},
		"beside it, another adapter": {on(0, win32.BusTypeSas), withLUN(on(0, win32.BusTypeSas), 6),
			[]scenario.Adapter{{Number: 1, BusType: win32.BusTypeSas}}, ""},
		"beside it, another kind besides": {on(0, win32.BusTypeSas), withLUN(on(0, win32.BusTypeSas), 6),
			[]scenario.Adapter{{Number: 1, BusType: win32.BusTypeSata}}, "6"},
	} {
		t.Run(name, func(t *testing.T) {
			n := startChanged(t, func(s *scenario.Scenario) {
				s.SystemDisk, s.Disks, s.Adapters = test.system, []bundle.Spec{test.data}, test.adapters
			})
			wantLUN(t, n, 1, test.want)
			wantLUN(t, n, 0, "")
		})
	}
}

func withLUN(spec bundle.Spec, lun uint8) bundle.Spec {
	spec.LUN = lun
	return spec
}

// TestLocationsWithoutAnAnswer: without the address of the system disk the disks beside it are unknown, and an adapter
// that does not answer may be of its kind.
func TestLocationsWithoutAnAnswer(t *testing.T) {
	n := startChanged(t, func(s *scenario.Scenario) {
		s.Disks = s.Disks[:1]
		s.Disks[0].Adapter = 1
		s.Adapters = []scenario.Adapter{{Number: 7, BusType: win32.BusTypeSata}}
	})
	wantLUN(t, n, 1, "1")
	n.Faults.Add(testnode.Fault{Function: "OpenDevice", Object: "dev_adapter#7#", Times: 1,
		Error: win32.ERROR_GEN_FAILURE})
	wantLUN(t, n, 1, "")
	for _, fault := range []testnode.Fault{
		{Function: "DeviceIoControl", Code: win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, Object: "prod_disk#0&",
			Error: win32.ERROR_IO_DEVICE},
		{Function: "AdapterInterfaces", Error: win32.ERROR_IO_DEVICE},
		{Function: "RegistryStrings", Error: win32.ERROR_IO_DEVICE},
		{Function: "OpenDevice", Object: `\\.\C:`, Error: win32.ERROR_IO_DEVICE},
	} {
		fault.Times = 1
		n.Faults.Add(fault)
		_, err := n.ListDiskLocations()
		n.Code(err, codes.Unavailable)
	}
	wantLUN(t, n, 1, "1")
}

// TestTwoDisksWithOneName: a driver that asks for a disk by name gets one only if it is the only one.
func TestTwoDisksWithOneName(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	client := csiproxytest.Client(t, n.Node.Node, olddiskclient.NewClientWithPipePath)
	ask := func() (string, error) {
		reply, err := client.GetDiskNumberByName(t.Context(),
			&olddisk.GetDiskNumberByNameRequest{DiskName: "EMULATED  disk-2"})
		return reply.GetDiskNumber(), err
	}
	twin := n.Attach(bundle.Spec{Identifiers: slices.Clone(scenario.Default().Disks[1].Identifiers)})
	_, err := ask()
	n.Refused(err, codes.FailedPrecondition, "AMBIGUOUS_DISK")
	n.DetachDisk(twin)
	if got, err := ask(); err != nil || got != "2" {
		t.Errorf("got %q, %v, want disk 2", got, err)
	}
}

// TestCallsHoldWhatTheyChange: while a call works on a disk, a volume or a path, a second one that changes it waits. A
// caller that joins a mount later would be told that the volume is mounted, after its disk has gone.
func TestCallsHoldWhatTheyChange(t *testing.T) {
	type node = *caller.Node
	formatted := func(n node) string { return n.Formatted(1) }
	staged := func(n node) string {
		n.OK(n.StageDisk(1, staging))
		id, err := n.GetVolumeIDFromTargetPath(staging)
		n.OK(err)
		return id
	}
	offline := func(c *caller.Calls, _ string) error { return c.SetDiskState(1, false) }
	for name, test := range map[string]struct {
		in      csiproxytest.Calls // where the first call hangs
		prepare func(n node) (volume string)
		first   func(n node, volume string) error
		other   func(c *caller.Calls, volume string) error
	}{
		"a mount and its disk": {csiproxytest.Calls{Function: "SetVolumeMountPoint"}, formatted,
			func(n node, volume string) error { return n.MountVolume(volume, staging) }, offline},
		"a stage and its disk": {csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_CREATE_DISK"},
			func(node) string { return "" },
			func(n node, _ string) error { return n.StageDisk(1, staging) }, offline},
		"a stage and its volume": {csiproxytest.Calls{Function: "FormatVolume"}, func(n node) string { return n.Raw(1) },
			func(n node, _ string) error { return n.StageDisk(1, staging) },
			func(c *caller.Calls, volume string) error { return c.MountVolume(volume, staging+"2") }},
		"an unstage and its volume": {csiproxytest.Calls{Function: "DeleteVolumeMountPoint"}, staged,
			func(n node, _ string) error { return n.Unstage(staging) },
			func(c *caller.Calls, volume string) error { return c.MountVolume(volume, staging+"2") }},
		"a removal and its path": {csiproxytest.Calls{Function: "SetInformation"},
			func(n node) string { n.OK(n.Mkdir(staging)); return "" },
			func(n node, _ string) error { return n.Rmdir(staging, false) },
			func(c *caller.Calls, _ string) error { return c.Mkdir(staging) }},
	} {
		t.Run(name, func(t *testing.T) {
			n := caller.Start(t, testnode.Options{})
			id := test.prepare(n)
			reached, release := n.Hang(test.in)
			first := make(chan error, 1)
			go func() { first <- test.first(n, id) }()
			<-reached
			soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if err := test.other(n.Within(soon), id); err == nil {
				t.Error("the other call has changed what the first one works on")
			}
			release()
			n.OK(<-first)
		})
	}
}

func TestMountWithoutItsDisk(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	id := n.Formatted(1)
	n.OK(n.SetDiskState(1, false))
	if err := n.MountVolume(id, staging); err == nil {
		t.Error("a volume without its disk was mounted")
	}
}
