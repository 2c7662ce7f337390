// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/hex"
	"testing"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// The disk that each mark of a cloud or a storage system means, as it looks on a bus where it belongs.
func markedDisks(t *testing.T) map[string]struct {
	spec    bundle.Spec
	request *api.StageDiskRequest
} {
	t.Helper()
	identified := func(codeSet, kind uint32, text string) bundle.Spec {
		id := []byte(text)
		if codeSet == win32.StorageIdCodeSetBinary {
			var err error
			id, err = hex.DecodeString(text)
			must(t, err)
		}
		return bundle.Spec{Identifiers: setting.Identifiers{{CodeSet: codeSet, Type: kind,
			Association: win32.StorageIdAssocDevice, Identifier: id}}}
	}
	binary, ascii := uint32(win32.StorageIdCodeSetBinary), uint32(win32.StorageIdCodeSetAscii)
	return map[string]struct {
		spec    bundle.Spec
		request *api.StageDiskRequest
	}{
		"serial_number": {bundle.Spec{SerialNumber: "vol-1"},
			&api.StageDiskRequest{Disk: &api.StageDiskRequest_SerialNumber{SerialNumber: " VOL-1"}}},
		"page83_id": {identified(binary, deviceside.StorageIdTypeFCPHName, "60a9800041764b6a6e5d4e5a6b4a4f31"),
			&api.StageDiskRequest{Disk: &api.StageDiskRequest_Page83Id{Page83Id: "60a9800041764b6a6e5d4e5a6b4a4f31"}}},
		"lun": {bundle.Spec{}, &api.StageDiskRequest{Disk: &api.StageDiskRequest_Lun{Lun: 5}}},
		"azure_lun": {identified(binary, deviceside.StorageIdTypeFCPHName, "60022480b1943ea0c752185d6be2c349"),
			&api.StageDiskRequest{Disk: &api.StageDiskRequest_AzureLun{AzureLun: 5}}},
		"azure_lun, with a vendor's identifier": {identified(binary, deviceside.StorageIdTypeVendorId,
			"4d53465420202020b1943ea0c752864da7f0185d6be2c349"),
			&api.StageDiskRequest{Disk: &api.StageDiskRequest_AzureLun{AzureLun: 5}}},
		"ebs_volume_id": {bundle.Spec{SerialNumber: "vol0123456789abcdef0"},
			&api.StageDiskRequest{Disk: &api.StageDiskRequest_EbsVolumeId{EbsVolumeId: "vol-0123456789abcdef0"}}},
		"gce_device_name": {identified(ascii, deviceside.StorageIdTypeVendorId, "Google  pd-1"),
			&api.StageDiskRequest{Disk: &api.StageDiskRequest_GceDeviceName{GceDeviceName: "pd-1"}}},
		"eui64": {bundle.Spec{SerialNumber: "10CC_9636_B6E3_CE3B_0000_0000_0000_0000."},
			&api.StageDiskRequest{Disk: &api.StageDiskRequest_Eui64{Eui64: 0x10cc9636b6e3ce3b}}},
		"vsphere_uuid": {identified(binary, deviceside.StorageIdTypeFCPHName, "6000c294e9da41377ffbeda45b97abeb"),
			&api.StageDiskRequest{Disk: &api.StageDiskRequest_VsphereUuid{VsphereUuid: "6000C294-e9da-4137-7ffb-eda45b97abeb"}}},
	}
}

// The buses on which a mark counts, in the order of the table in docs/decisions/which-disks.md.
var busTable = []struct {
	name string
	bus  setting.BusType
	fit  string // marks: s is serial_number and page83_id, l is lun, c is a cloud's, a is azure_lun
}{
	{"SCSI", win32.BusTypeScsi, "slca"}, {"SAS", win32.BusTypeSas, "slca"}, {"RAID", win32.BusTypeRAID, "slca"},
	{"NVMe", win32.BusTypeNvme, "sc"}, {"SATA", win32.BusTypeSata, "sc"}, {"virtual", win32.BusTypeVirtual, "sc"},
	{"Fibre Channel", win32.BusTypeFibre, "sl"}, {"USB", win32.BusTypeUsb, "s"},
	{"file-backed virtual", win32.BusTypeFileBackedVirtual, "s"}, {"Storage Spaces", win32.BusTypeSpaces, "s"},
	{"iSCSI", win32.BusTypeiScsi, ""},
}

// TestMarksAndBuses tries each mark on a disk of each bus, alone and beside a second one that has the mark, too. A
// storage server chooses the identifiers of its disks, so on a bus where the mark does not count no disk fits.
func TestMarksAndBuses(t *testing.T) {
	class := map[string]string{"serial_number": "s", "page83_id": "s", "lun": "l", "azure_lun": "a",
		"azure_lun, with a vendor's identifier": "a"}
	for mark, disk := range markedDisks(t) {
		m, err := matchOf(disk.request)
		must(t, err)
		kind := class[mark]
		if kind == "" {
			kind = "c"
		}
		for _, row := range busTable {
			spec := disk.spec
			spec.SizeBytes, spec.BusType, spec.Adapter, spec.LUN = 64<<20, row.bus, 7, 5
			k := emulate(t, emulated.Options{Scenario: new(scenario.Default())})
			n := bare(t, k)
			number, err := k.AttachDisk(spec)
			must(t, err)
			fits := false
			for _, c := range row.fit {
				fits = fits || string(c) == kind
			}
			found, err := findNow(t, n, m)
			switch {
			case fits && (err != nil || found.number != number):
				t.Errorf("%s on %s: disk %d, %v; want disk %d", mark, row.name, found.number, err, number)
			case !fits && !errdefs.HasReason(err, reason.DiskNotFound):
				t.Errorf("%s on %s: disk %d, %v; want none", mark, row.name, found.number, err)
			}
			spec.Adapter, spec.BusType = 8, win32.BusTypeSas // where all count
			other, err := k.AttachDisk(spec)
			must(t, err)
			found, err = findNow(t, n, m)
			switch {
			case fits && !errdefs.HasReason(err, reason.AmbiguousDisk) && !(kind == "a" && found.number == other):
				t.Errorf("%s on %s and SAS: disk %d, %v; want ambiguous", mark, row.name, found.number, err)
			case !fits && (err != nil || found.number != other):
				t.Errorf("%s on %s and SAS: disk %d, %v; want disk %d", mark, row.name, found.number, err, other)
			}
		}
	}
}

// A disk with Azure's LUN on SCSI comes before one on NVMe, of which the LUN is read from its path.
func TestAzureLUNOnTwoBuses(t *testing.T) {
	m, err := matchOf(&api.StageDiskRequest{Disk: &api.StageDiskRequest_AzureLun{AzureLun: 5}})
	must(t, err)
	scsi, nvme := foundDisk{number: 1, lun: "5"}, foundDisk{number: 2}
	for want, disks := range map[uint32][]foundDisk{1: {nvme, scsi}, 2: {nvme}} {
		if got, err := m.among(t.Context(), nil, disks); err != nil || len(got) != 1 || got[0].number != want {
			t.Errorf("%v, %v, want disk %d", got, err, want)
		}
	}
}

// findNow looks at the disks once.
func findNow(t *testing.T, n *Node, m match) (foundDisk, error) {
	t.Helper()
	disks, err := read(t.Context(), n, operation.On("test"), func(o *op) ([]foundDisk, error) { return o.look(true, nil) })
	must(t, err)
	return n.pick(t.Context(), m, disks)
}

// TestPartOfAMark: a disk whose mark begins or ends as the one that is asked for is another disk. The first rows are
// what a cloud or Windows adds to a mark.
func TestPartOfAMark(t *testing.T) {
	serial := func(text string) *api.StageDiskRequest {
		return &api.StageDiskRequest{Disk: &api.StageDiskRequest_SerialNumber{SerialNumber: text}}
	}
	model := func(text string) *api.StageDiskRequest {
		return &api.StageDiskRequest{Disk: &api.StageDiskRequest_Model{Model: text}}
	}
	ebs := &api.StageDiskRequest{Disk: &api.StageDiskRequest_EbsVolumeId{EbsVolumeId: "vol-0123456789abcdef0"}}
	gce := &api.StageDiskRequest{Disk: &api.StageDiskRequest_GceDeviceName{GceDeviceName: "pd-1"}}
	eui := &api.StageDiskRequest{Disk: &api.StageDiskRequest_Eui64{Eui64: 0x10cc9636b6e3ce3b}}
	const nvme, scsi = win32.BusTypeNvme, win32.BusTypeScsi
	for _, test := range []struct {
		request *api.StageDiskRequest
		disk    foundDisk
		want    bool
	}{
		{serial("s1"), foundDisk{ids: DiskIDs{"", "S1_00000001."}, busType: nvme}, true},
		{ebs, foundDisk{ids: DiskIDs{"", "vol0123456789abcdef0_00000001."}, busType: nvme}, true},
		{model("Microsoft NVMe Direct Disk v2"), foundDisk{model: "Microsoft NVMe D", busType: nvme}, true},
		{serial("vol-1"), foundDisk{ids: DiskIDs{"", "vol-10"}}, false},
		{serial("ol-1"), foundDisk{ids: DiskIDs{"", "vol-1"}}, false},
		{serial("s1"), foundDisk{ids: DiskIDs{"", "s1_00000002."}, busType: nvme}, false},
		{serial("s1"), foundDisk{ids: DiskIDs{"", "s1_00000001."}, busType: scsi}, false},
		{ebs, foundDisk{ids: DiskIDs{"", "vol0123456789abcdef0_00000002."}, busType: nvme}, false},
		{ebs, foundDisk{ids: DiskIDs{"", "vol0123456789abcdef0a"}}, false},
		{gce, foundDisk{ids: DiskIDs{"Other  pd-1", ""}}, false},
		{gce, foundDisk{ids: DiskIDs{"Google  other pd-1", ""}}, false},
		{eui, foundDisk{ids: DiskIDs{"", "10CC_9636_B6E3_CE3B_0000_0000_0000_0001."}}, false},
		{model("KIOXIA KCD61LUL3T84"), foundDisk{model: "KIOXIA KCD61LUL3", busType: nvme}, false},
	} {
		m, err := matchOf(test.request)
		must(t, err)
		if got := m.fits(test.disk); got != test.want {
			t.Errorf("%s fits disk %+v: %t, want %t", m.what, test.disk, got, test.want)
		}
	}
}

// TestMarksOfNoDisk: a mark that no disk can have is refused at once.
func TestMarksOfNoDisk(t *testing.T) {
	for _, r := range []*api.StageDiskRequest{
		{}, {Disk: &api.StageDiskRequest_SerialNumber{SerialNumber: " "}}, {Disk: &api.StageDiskRequest_Lun{Lun: 256}},
		{Disk: &api.StageDiskRequest_GceDeviceName{GceDeviceName: " pd-1"}},
		{Disk: &api.StageDiskRequest_AzureLun{AzureLun: 256}}, {Disk: &api.StageDiskRequest_IscsiDisk{}},
		{Disk: &api.StageDiskRequest_IscsiDisk{IscsiDisk: &api.ISCSIDisk{TargetAddress: "192.0.2.1"}}},
		{Disk: &api.StageDiskRequest_IscsiDisk{IscsiDisk: &api.ISCSIDisk{Iqn: "iqn.2001-04.com.example:disk"}}},
	} {
		if _, err := matchOf(r); !errdefs.HasReason(err, reason.InvalidArgument, reason.InvalidTargetName,
			reason.InvalidTargetPortal) {
			t.Errorf("%v: %v", r, err)
		}
	}
}
