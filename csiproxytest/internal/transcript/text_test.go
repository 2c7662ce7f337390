// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest/internal/transcript"
)

func api(sequence uint64, id string, call *nodeapi.APICall) *nodeapi.JournalEntry {
	if call.GetEndpoint() == "" {
		call.Endpoint = "csi-proxy-volume-v1"
	}
	return &nodeapi.JournalEntry{Sequence: sequence, RequestId: id, Call: &nodeapi.JournalEntry_Api{Api: call}}
}

func kernel(sequence uint64, id string, call *nodeapi.KernelCall) *nodeapi.JournalEntry {
	return &nodeapi.JournalEntry{Sequence: sequence, RequestId: id, Call: &nodeapi.JournalEntry_Kernel{Kernel: call}}
}

const (
	one   = `be5fc18d-c318-4634-b0a7-7e31daa412c8`
	two   = `403364da-4023-43f3-9091-bd46b07bdf16`
	three = `2413fc6a-5fa8-4f11-9314-394caecd099b`
)

func entries() []*nodeapi.JournalEntry {
	return []*nodeapi.JournalEntry{
		kernel(1, "", &nodeapi.KernelCall{Function: "EnablePrivilege", Object: "SeX"}), // at the start, for no call
		api(2, "x", &nodeapi.APICall{Endpoint: "csiproxy-admin",
			Method: "/csiproxy.emulated.v1alpha1.EmulatedNode/AttachDisk", Code: "OK"}),
		kernel(3, "b", &nodeapi.KernelCall{Function: "OpenDevice", Object: `\\?\Volume{` + two + `}`, Part: 2}),
		kernel(4, "b", &nodeapi.KernelCall{Function: "OpenDevice", Object: `\\?\Volume{` + one + `}`, Part: 1,
			Error: "gone (ERROR_GONE, 5)"}),
		kernel(5, "b", &nodeapi.KernelCall{Function: "ReadAt",
			Object: `\\?\scsi#disk#7b5e1d9117f465e2&0&000001#{` + three + `}`}),
		kernel(6, "c", &nodeapi.KernelCall{Function: "Flush", Object: "of another call"}),
		kernel(7, "b", &nodeapi.KernelCall{Function: "ReadAt",
			Object: `\\?\scsi#disk#7b5e1d9117f465e2&0&000001#{` + three + `}`}),
		kernel(8, "b", &nodeapi.KernelCall{Function: "DeviceIoControl", ControlCode: "IOCTL_X", Object: `\\.\PhysicalDrive1`,
			Arguments: "{Disk:" + three + "}"}),
		kernel(9, "b", &nodeapi.KernelCall{Function: "Rename", Object: "a",
			Arguments: `C:\csi-proxy-ABCDEFGHIJKLMNOPQRSTUVWXYZ`}),
		kernel(10, "b", &nodeapi.KernelCall{Function: "LogoutISCSITarget", Object: "ffffc00012340010-4000013700000003"}),
		api(11, "b", &nodeapi.APICall{
			Method: "/v1.Volume/MountVolume", Code: "NotFound", Request: `{"volume_id":"\\\\?\\Volume{` + two + `}\\"}`,
			Message: "no volume " + two + " since 1m2.5s\nv1.Volume/Forged -> OK",
		}),
		api(12, "b", &nodeapi.APICall{Method: "/v1.Volume/MountVolume", Code: "OK"}), // joined the call before
		api(13, "c", &nodeapi.APICall{Method: "/v1.Volume/List", Code: "OK", Request: "{}", Response: `{"ids":["` + one +
			`","` + two[:9] + "…"}),
		api(0, "d", &nodeapi.APICall{Method: "/v1.Volume/FormatVolume", Request: `{"volume_id":"` + two + `"}`}),
	}
}

func TestText(t *testing.T) {
	const apiOnly = `v1.Volume/MountVolume {"volume_id":"\\?\<volume 1>\"} -> NotFound: no volume <guid 1> since <duration>�v1.Volume/Forged -> OK
v1.Volume/MountVolume -> OK
v1.Volume/List -> OK {"ids":["<guid 2>",…
v1.Volume/FormatVolume {"volume_id":"<guid 1>"} -> running
`
	if d := cmp.Diff(apiOnly, transcript.Text(entries(), false)); d != "" {
		t.Errorf("API calls (-want +got):\n%s", d)
	}
	const all = `v1.Volume/MountVolume {"volume_id":"\\?\<volume 1>\"} -> NotFound: no volume <guid 1> since <duration>�v1.Volume/Forged -> OK
  OpenDevice \\?\<volume 2> -> gone (ERROR_GONE, 5)
  OpenDevice \\?\<volume 1>
  ReadAt \\?\scsi#disk#<instance 1>#{<guid 2>}
  DeviceIoControl IOCTL_X \\.\PhysicalDrive1 {Disk:<guid 2>}
  Rename a C:\<file 1>
  LogoutISCSITarget <session 1>
v1.Volume/MountVolume -> OK
v1.Volume/List -> OK {"ids":["<guid 3>",…
  Flush of another call
v1.Volume/FormatVolume {"volume_id":"<guid 1>"} -> running
`
	if d := cmp.Diff(all, transcript.Text(entries(), true)); d != "" {
		t.Errorf("with kernel calls (-want +got):\n%s", d)
	}
	if got := transcript.Text(nil, true); got != "" {
		t.Errorf("no calls: got %q", got)
	}
}
