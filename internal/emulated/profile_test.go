// SPDX-License-Identifier: Apache-2.0

package emulated_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// lookup finds the disk of a volume as a driver does.
type lookup func(t *testing.T, n *testnode.Node) (disks []uint32, err error)

func diskIDs(t *testing.T, n *testnode.Node) (map[uint32]*diskapi.DiskIDs, error) {
	t.Helper()
	r, err := n.Disk.ListDiskIDs(t.Context(), &diskapi.ListDiskIDsRequest{})
	return r.GetDiskIDs(), err
}

// byIDs finds the disks whose identifiers fit. A driver takes the first one in random order, so there must be only one.
func byIDs(fits func(*diskapi.DiskIDs) bool) lookup {
	return func(t *testing.T, n *testnode.Node) (found []uint32, err error) {
		t.Helper()
		ids, err := diskIDs(t, n)
		for number, id := range ids {
			if fits(id) {
				found = append(found, number)
			}
		}
		return found, err
	}
}

// azureDisk looks for the LUN, on any adapter.
func azureDisk(lun int) lookup {
	return func(t *testing.T, n *testnode.Node) (found []uint32, err error) {
		t.Helper()
		if _, err := n.Disk.Rescan(t.Context(), &diskapi.RescanRequest{}); err != nil {
			return nil, err
		}
		r, err := n.Disk.ListDiskLocations(t.Context(), &diskapi.ListDiskLocationsRequest{})
		for number, location := range r.GetDiskLocations() {
			if location.GetLUNID() == strconv.Itoa(lun) {
				found = append(found, number)
			}
		}
		return found, err
	}
}

func ebs(volumeID string) lookup { return bySerial(strings.ReplaceAll(volumeID, "-", "")) }

func bySerial(part string) lookup {
	return byIDs(func(id *diskapi.DiskIDs) bool { return strings.Contains(id.GetSerialNumber(), part) })
}

// gcpNVMe looks for the namespace identifier in the machine's metadata.
func gcpNVMe(namespace uint64) lookup {
	return byIDs(func(id *diskapi.DiskIDs) bool {
		eui := strings.TrimPrefix(id.GetPage83(), "eui.")
		if eui == id.GetPage83() {
			if eui = strings.ReplaceAll(strings.TrimSuffix(id.GetSerialNumber(), "."), "_", ""); len(eui) != 32 {
				return false
			}
		}
		n, err := strconv.ParseUint(eui[:min(16, len(eui))], 16, 64)
		return err == nil && n == namespace
	})
}

func gcpSCSI(deviceName string) lookup {
	return byIDs(func(id *diskapi.DiskIDs) bool {
		if id.GetPage83() == "" {
			return false
		}
		words := strings.Fields(id.GetPage83())
		return words[len(words)-1] == deviceName
	})
}

func vsphere(diskID string) lookup {
	return byIDs(func(id *diskapi.DiskIDs) bool { return id.GetPage83() == diskID })
}

// vsphereUUID derives the machine's UUID from the serial number as the vSphere driver does.
func vsphereUUID(serial string) (string, error) {
	hex, ok := strings.CutPrefix(serial, "VMware-")
	hex = strings.NewReplacer(" ", "", "-", "").Replace(hex)
	if !ok || len(hex) != 32 {
		return "", errors.New("not a serial number of VMware")
	}
	return fmt.Sprintf("%s-%s-%s-%s-%s", hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:]), nil
}

func TestDriversFindTheDisksOfProfiles(t *testing.T) {
	tests := map[string]struct {
		first, second lookup // disks that the driver attached
		absent        lookup
		numbers       [2]uint32
		serial        string // of the SMBIOS
	}{
		"azure":      {azureDisk(0), azureDisk(1), azureDisk(2), [2]uint32{2, 3}, "0000-0007-1234-5678-9012-3456-78"},
		"azure-gen1": {azureDisk(0), azureDisk(1), azureDisk(2), [2]uint32{2, 3}, "0000-0011-2233-4455-6677-8899-00"},
		"azure-nvme": {bySerial("E71D_2F10"), bySerial("FFD2_F0E8"), azureDisk(0), [2]uint32{2, 3},
			"0000-0002-8765-4321-0987-6543-21"},
		"aws-ebs-nvme": {
			ebs("vol-0123456789abcdef0"), ebs("vol-0123456789abcdef1"), ebs("vol-0123456789abcdef2"),
			[2]uint32{1, 2}, "ec2e1916-9099-7caf-fd21-012345abcdef",
		},
		"aws-ebs-xen": {
			ebs("vol-0fedcba9876543210"), ebs("vol-0fedcba9876543211"), ebs("vol-0123456789abcdef0"),
			[2]uint32{1, 2}, "ec2b7f3a-41d8-5c60-9e27-a1c3d5e7f901",
		},
		"gce-pd-nvme": {
			gcpNVMe(0x10cc9636b6e3ce3b), gcpNVMe(0xe3f02b7194da5c08), gcpNVMe(1),
			[2]uint32{1, 2}, "GoogleCloud-4E1C7A90B35D2F68A1C4E7093B5D8F26",
		},
		"gce-pd-scsi": {
			gcpSCSI("pvc-6f0d5b1e-93a7-4c28-8d14-b7e2a05c9f36"),
			gcpSCSI("pvc-6f0d5b1e-93a7-4c28-8d14-b7e2a05c9f37"), gcpSCSI("Google"),
			[2]uint32{1, 2}, "GoogleCloud-9B27D4E60F8A1C35E7B902D46A8C1F30",
		},
		"vsphere": {
			vsphere("6000c2962ed0f5630da60edb30a9d864"), vsphere("6000c294e9da41377ffbeda45b97abeb"),
			vsphere("6000C2962ed0f5630da60edb30a9d864"),
			[2]uint32{1, 2}, "VMware-42 29 6b f1 0c 5d 8e 34-a7 91 3e 2c d8 54 b0 7f",
		},
	}
	for _, name := range scenario.Profiles() {
		t.Run(name, func(t *testing.T) {
			test, ok := tests[name]
			if !ok {
				t.Fatal("no driver looks for the disks of this profile")
			}
			n := startScenario(t, name)
			for _, find := range []struct {
				by   lookup
				want []uint32
			}{{test.first, test.numbers[:1]}, {test.second, test.numbers[1:]}, {test.absent, nil}} {
				got, err := find.by(t, n)
				if diff := cmp.Diff(find.want, got); err != nil || diff != "" {
					t.Errorf("disks found (-want +got):\n%s%v", diff, err)
				}
			}
			bios, err := n.System.GetBIOSSerialNumber(t.Context(), &systemapi.GetBIOSSerialNumberRequest{})
			if err != nil || bios.GetSerialNumber() != test.serial {
				t.Errorf("serial number of the SMBIOS: got %q, %v", bios.GetSerialNumber(), err)
			}
			// The disk that the driver found can take a volume.
			if _, err := n.Disk.PartitionDisk(t.Context(),
				&diskapi.PartitionDiskRequest{DiskNumber: test.numbers[0]}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestVSphereMachineHasUUID(t *testing.T) {
	n := startScenario(t, "vsphere")
	bios, err := n.System.GetBIOSSerialNumber(t.Context(), &systemapi.GetBIOSSerialNumberRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := vsphereUUID(bios.GetSerialNumber()); err != nil || got != "42296bf1-0c5d-8e34-a791-3e2cd854b07f" {
		t.Errorf("got %q, %v", got, err)
	}
}

// startScenario runs an agent on the node of a profile or scenario file.
func startScenario(t *testing.T, name string) *testnode.Node {
	t.Helper()
	s, err := scenario.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return testnode.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})
}
