// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// notMounted is in the text from which the AWS EBS driver learns that nothing is mounted.
const notMounted = "because it does not exist"

// A failure is a call that fails, in every version that has its operation, because of a missing object or of kernel
// functions that deny access.
type failure struct {
	request values
	denied  string // kernel functions
	want    codes.Code
	text    string // in the error
}

// failures returns a failure of each operation, by the hub's names. What else a call may meet is the same in all
// versions, and stands in test/contract.
func failures() map[string]failure {
	missing := func(v values) failure { return failure{request: v, want: codes.NotFound} }
	denied := func(functions string, v values) failure {
		return failure{request: v, denied: functions, want: codes.PermissionDenied}
	}
	none := pods + `\none`
	at, targetAt := values{portal: array()}, values{portal: array(), target: openTarget}
	return map[string]failure{
		"ListDiskLocations":   denied("DiskInterfaces", nil),
		"ListDiskIDs":         denied("DiskInterfaces", nil),
		"GetDiskNumberByName": missing(values{diskName: "vol0123456789abcdef1"}), // a serial number
		"Rescan":              denied("ReenumerateDevices UpdateStorageCache", nil),
		"PartitionDisk":       missing(values{disk: unknownDisk}),
		"GetDiskStats":        missing(values{disk: unknownDisk}),
		"SetDiskState":        missing(values{disk: unknownDisk, online: true}),
		"GetDiskState":        missing(values{disk: unknownDisk}),

		"PathExists":    denied("QueryAttributes OpenFile", values{path: pods}),
		"Mkdir":         denied("OpenFile", values{path: none}),
		"Rmdir":         missing(values{path: none, force: false}),
		"RmdirContents": missing(values{path: none}),
		"CreateSymlink": missing(values{path: none + `\link`, source: pods}),
		"IsSymlink":     missing(values{path: none}),

		"ListVolumesOnDisk":                missing(values{disk: unknownDisk}),
		"IsVolumeFormatted":                missing(values{volume: unknownVolume}),
		"FormatVolume":                     missing(values{volume: unknownVolume}),
		"ResizeVolume":                     missing(values{volume: unknownVolume, size: int64(0)}),
		"GetVolumeStats":                   missing(values{volume: unknownVolume}),
		"GetDiskNumberFromVolumeID":        missing(values{volume: unknownVolume}),
		"WriteVolumeCache":                 missing(values{volume: unknownVolume}),
		"MountVolume":                      missing(values{volume: unknownVolume, path: none}),
		"UnmountVolume":                    denied("OpenFile", values{volume: unknownVolume, path: none}),
		"GetVolumeIDFromTargetPath":        {values{path: none}, "", codes.NotFound, notMounted},
		"GetClosestVolumeIDFromTargetPath": missing(values{path: none}),

		"NewSmbGlobalMapping": missing(values{remote: `\\fs.emulated\none`, local: "", user: "csi",
			password: "csi-password"}),
		"RemoveSmbGlobalMapping": {values{remote: share}, "SMBGlobalMappings", codes.Unavailable, ""},

		"AddTargetPortal":      denied("AddISCSISendTargetPortal", at),
		"ListTargetPortals":    denied("ReportISCSISendTargetPortals", nil),
		"DiscoverTargetPortal": missing(at),
		"RemoveTargetPortal":   denied("ReportISCSISendTargetPortals", at),
		"ConnectTarget":        missing(targetAt),
		"DisconnectTarget":     denied("ISCSISessionList", targetAt),
		"GetTargetDisks":       denied("ISCSISessionList", targetAt),
		"SetMutualChapSecret":  denied("SetISCSIInitiatorCHAPSharedSecret", values{mutualSecret: "mutual-secret1"}),

		"GetBIOSSerialNumber": denied("SystemFirmwareTable", nil),
		"GetService":          missing(values{serviceName: "nothing"}),
		"StartService":        missing(values{serviceName: "nothing"}),
		"StopService":         missing(values{serviceName: "nothing", force: true}),

		"StageDisk": missing(values{disk: unknownDisk, path: none}),
		"StageShare": missing(values{remote: `\\fs.emulated\none`, path: none, user: "csi",
			password: "csi-password"}),
		"Unstage":   denied("OpenFile", values{path: none}),
		"Publish":   denied("OpenFile", values{path: none, source: pods}),
		"Expand":    missing(values{path: none, size: int64(0)}),
		"GetVolume": missing(values{path: none}),
	}
}

// fail makes the call.
func (f failure) fail(d *driver, operation string) {
	d.t.Helper()
	for function := range strings.FieldsSeq(f.denied) {
		d.node.Faults.Add(testnode.Fault{Function: function, Error: win32.ERROR_ACCESS_DENIED})
	}
	err := d.do(operation, f.request)
	wantCode(d.t, operation, err, f.want)
	if err == nil || !strings.Contains(err.Error(), f.text) {
		d.t.Errorf("%v lacks %q", err, f.text)
	}
}

func wantCode(t testing.TB, what any, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		text := fmt.Sprint(err)
		t.Errorf("%v: code %v, want %v (%s)", what, got, want, text[:min(len(text), 300)])
	}
}

// same asserts that two values are equal.
func same[T any](t testing.TB, got, want T) {
	t.Helper()
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
