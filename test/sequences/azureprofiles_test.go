// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// azureMachine is a machine in Azure before a data disk is attached.
type azureMachine struct {
	profile string
	change  func(*emulated.Scenario)
	adapter uint8 // of data disks
	busType emulated.BusType
	nvme    bool // the driver finds no disk
}

// azureMachines returns the machines: those of the profiles, and what users make of them. A page file may lie on drive
// C instead of the temporary disk, or a size without a temporary disk be chosen.
func azureMachines() map[string]azureMachine {
	onC := func(s *emulated.Scenario) { s.PageFiles = []string{`C:\pagefile.sys`} }
	without := func(s *emulated.Scenario) { onC(s); s.Disks = nil }
	machines := map[string]azureMachine{}
	for _, m := range []azureMachine{
		{profile: "azure", adapter: 1, busType: win32.BusTypeSas},
		{profile: "azure-gen1", adapter: 3, busType: win32.BusTypeSas},
		{profile: "azure-nvme", adapter: 0, busType: win32.BusTypeNvme, nvme: true},
	} {
		machines[m.profile] = m
		for name, change := range map[string]func(*emulated.Scenario){
			", page file on drive C": onC, ", no temporary disk": without,
		} {
			changed := m
			changed.change = change
			machines[m.profile+name] = changed
		}
	}
	return machines
}

func (m azureMachine) start(t *testing.T) *testnode.Node {
	t.Helper()
	s, err := emulated.LoadScenario(m.profile)
	if err != nil {
		t.Fatal(err)
	}
	s.Disks = slices.DeleteFunc(s.Disks, func(d emulated.DiskSpec) bool { return d.Adapter == m.adapter })
	if m.change != nil {
		m.change(&s)
	}
	return testnode.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})
}

// attach attaches a data disk at a LUN, as Azure does: an NVMe namespace's number is larger by one.
func (m azureMachine) attach(t *testing.T, n *testnode.Node, lun int) uint32 {
	t.Helper()
	spec := emulated.DiskSpec{SizeBytes: 1 << 30, Adapter: m.adapter, BusType: m.busType, LUN: uint8(lun),
		SerialNumber: fmt.Sprintf("data disk %d", lun)}
	if m.nvme {
		spec.LUN++
	}
	number, err := n.Emulated.AttachDisk(spec)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// TestAzureFindsTheRightDisk stages data disks with the LUNs 0, 1 and 2, which the system disk and the temporary disk
// have too, attached and staged in every order. Each stage must end on its own disk or in an error, and no disk may
// have the LUN of one that is not attached, whatever disk the driver would look at first.
func TestAzureFindsTheRightDisk(t *testing.T) {
	t.Parallel()
	if testnode.OnWine() {
		t.Skip("require a host that tells where a file has holes: the digests of these disks would read terabytes of zeros")
	}
	machines := azureMachines()
	for number, name := range slices.Sorted(maps.Keys(machines)) {
		m := machines[name]
		for i, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}} {
			if !testnode.Sampled(t, i, number, 6) {
				continue
			}
			t.Run(fmt.Sprint(name, " ", order), func(t *testing.T) {
				t.Parallel()
				n := m.start(t)
				before := untouched(t, n)
				attached := map[int]uint32{}
				for _, lun := range order {
					attached[lun] = m.attach(t, n, lun)
					onlyThese(t, n, m, attached)
					for _, staged := range order {
						m.stage(t, n, staged, attached)
					}
				}
				for number, digest := range before {
					if diskDigest(t, n, number) != digest {
						t.Errorf("disk %d, which is not a data disk, has changed", number)
					}
				}
			})
		}
	}
}

// untouched returns the digests of the disks that are not data disks.
func untouched(t *testing.T, n *testnode.Node) map[uint32]string {
	t.Helper()
	reply, err := n.Disk.ListDiskIDs(t.Context(), &diskapi.ListDiskIDsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	digests := map[uint32]string{}
	for number := range reply.GetDiskIDs() {
		digests[number] = diskDigest(t, n, number)
	}
	return digests
}

func diskDigest(t *testing.T, n *testnode.Node, number uint32) string {
	t.Helper()
	image, err := n.Emulated.DiskImage(number)
	if err != nil {
		t.Fatal(err)
	}
	return csiproxytest.Digest(t, image)
}

// onlyThese asserts that the data disks, and no others, have their LUNs.
func onlyThese(t *testing.T, n *testnode.Node, m azureMachine, attached map[int]uint32) {
	t.Helper()
	reply, err := n.Disk.ListDiskLocations(t.Context(), &diskapi.ListDiskLocationsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for number, location := range reply.GetDiskLocations() {
		want := ""
		for lun, disk := range attached {
			if disk == number && !m.nvme {
				want = fmt.Sprint(lun)
			}
		}
		if location.GetLUNID() != want {
			t.Errorf("disk %d has LUN %q, want %q", number, location.GetLUNID(), want)
		}
	}
}

// stage stages the disk at a LUN, and asserts that it is the right one.
func (m azureMachine) stage(t *testing.T, n *testnode.Node, lun int, attached map[int]uint32) {
	t.Helper()
	staging := fmt.Sprintf(`\var\lib\kubelet\plugins\kubernetes.io\csi\disk.csi.azure.com\%d\globalmount`, lun)
	err := azureDisk{fmt.Sprint(lun)}.Stage(newCalls(t, n, nil), staging)
	want, there := attached[lun]
	if !there || m.nvme {
		if !errors.Is(err, errNoSuchDisk) {
			t.Errorf("LUN %d: the stage ends with %v", lun, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("LUN %d: %v", lun, err)
	}
	id, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(),
		&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: withDrive(staging)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.Volume.GetDiskNumberFromVolumeID(t.Context(),
		&volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: id.GetVolumeId()})
	if err != nil || got.GetDiskNumber() != want {
		t.Errorf("LUN %d: staged disk %d, %v, want disk %d", lun, got.GetDiskNumber(), err, want)
	}
}
