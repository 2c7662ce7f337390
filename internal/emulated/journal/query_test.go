// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestQuery(t *testing.T) {
	type request = nodeapi.ListJournalRequest
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(9)
		kernelCall := func(id string, call kernel.Call, err error) {
			_ = j.Intercept(context.WithValue(t.Context(), idKey{}, id), call, func() error { return err })
		}
		rescan := j.BeginAPI("a", "csi-proxy-disk-v1", "/v1.Disk/Rescan")
		kernelCall("a", kernel.Call{Function: "ReenumerateDevices"}, nil)
		kernelCall("a", kernel.Call{Function: "OpenDevice", Object: `\\.\Scsi1:`}, win32.ERROR_ACCESS_DENIED)
		rescan.End(nil, win32.ERROR_ACCESS_DENIED) // 3
		time.Sleep(time.Minute)                    // the bubble's clock
		later := time.Now()
		mapping := j.BeginAPI("b", "csi-proxy-smb-v1", "/v1.Smb/NewSmbGlobalMapping")
		mapping.Request(&smb.NewSmbGlobalMappingRequest{RemotePath: `\\fs\share`, Password: "correct-horse"})
		kernelCall("b", kernel.Call{Function: "SetVolumeMountPoint", Object: `C:\mnt\`, Argument: "Volume{1}"}, nil)
		mapping.End(&smb.NewSmbGlobalMappingResponse{}, nil) // 5
		j.BeginAPI("c", "csi-proxy-disk-v1beta1", "/v1beta1.Disk/Rescan").Request(&disk.RescanRequest{})
		kernelCall("c", kernel.Call{Function: "ReenumerateDevices"}, nil)

		for name, test := range map[string]struct {
			query    *request
			want     []uint64
			running  int
			searched uint64
		}{
			"all":            {&request{}, []uint64{1, 2, 3, 4, 5, 6}, 1, 6},
			"group":          {&request{Method: "disk"}, []uint64{1, 2, 3, 6}, 1, 6},
			"version":        {&request{Method: "disk/v1beta1/Rescan"}, []uint64{6}, 1, 6},
			"function":       {&request{Function: "ReenumerateDevices"}, []uint64{1, 6}, 0, 6},
			"object":         {&request{Object: `SCSI1`}, []uint64{2}, 0, 6},
			"argument":       {&request{Object: `volume{`}, []uint64{4}, 0, 6},
			"request":        {&request{Object: `fs\share`}, []uint64{5}, 0, 6},
			"never a secret": {&request{Object: "correct-horse"}, nil, 0, 6},
			"request id":     {&request{RequestId: "b"}, []uint64{4, 5}, 0, 6},
			"failed":         {&request{Failed: true}, []uint64{2, 3}, 0, 6},
			"since":          {&request{Since: timestamppb.New(later)}, []uint64{4, 5, 6}, 1, 6},
			"two conditions": {&request{Method: "disk/v1", Failed: true, Function: "OpenDevice"},
				[]uint64{2}, 0, 6},
			"limited":          {&request{Function: "ReenumerateDevices", Limit: 1}, []uint64{1}, 0, 1},
			"after the limit":  {&request{Function: "ReenumerateDevices", Limit: 1, After: 5}, []uint64{6}, 0, 6},
			"none, all looked": {&request{RequestId: "z", Limit: 1}, nil, 0, 6},
		} {
			found := find(t, j, test.query)
			if d := cmp.Diff(test.want, numbers(found.GetEntries())); d != "" || len(found.GetRunning()) != test.running ||
				found.GetSearched() != test.searched {
				t.Errorf("%s: %d running, searched %d, (-want +got):\n%s", name, len(found.GetRunning()), found.GetSearched(), d)
			}
		}
	})
}

func TestArgumentsAndResponses(t *testing.T) {
	j := newJournal(9)
	in := win32.StoragePropertyQuery{PropertyID: 2}.Bytes()
	_ = j.Intercept(t.Context(), kernel.Call{Function: "DeviceIoControl", Code: win32.IOCTL_STORAGE_QUERY_PROPERTY,
		Input: in}, func() error { return nil })
	clear(in) // the caller may reuse its buffer
	_ = j.Intercept(t.Context(), kernel.Call{Function: "FormatVolume", Object: "v", Argument: "NTFS"},
		func() error { return nil })
	_ = j.Intercept(t.Context(), kernel.Call{Function: "SetInformation", Code: 64, Input: []byte{1, 0}},
		func() error { return nil })
	j.BeginAPI("b", "e", "/v1.Disk/GetDiskState").End(&disk.GetDiskStateResponse{IsOnline: true}, nil)

	want := []string{"{PropertyID:2 QueryType:0}", "NTFS", "0100", `{"is_online":true}`}
	var got []string
	for _, m := range find(t, j, nil).GetEntries() {
		got = append(got, m.GetKernel().GetArguments()+m.GetApi().GetResponse())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
