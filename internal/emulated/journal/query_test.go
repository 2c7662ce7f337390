// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
)

func TestQuery(t *testing.T) {
	mask := func(text string) policy.Mask {
		m, err := policy.ParseMask(text)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
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
			query    journal.Query
			want     []uint64
			running  int
			searched uint64
		}{
			"all":            {journal.Query{}, []uint64{1, 2, 3, 4, 5, 6}, 1, 6},
			"group":          {journal.Query{Methods: mask("disk")}, []uint64{1, 2, 3, 6}, 1, 6},
			"version":        {journal.Query{Methods: mask("disk/v1beta1/Rescan")}, []uint64{6}, 1, 6},
			"function":       {journal.Query{Function: "ReenumerateDevices"}, []uint64{1, 6}, 0, 6},
			"object":         {journal.Query{Object: `SCSI1`}, []uint64{2}, 0, 6},
			"argument":       {journal.Query{Object: `volume{`}, []uint64{4}, 0, 6},
			"request":        {journal.Query{Object: `fs\share`}, []uint64{5}, 0, 6},
			"never a secret": {journal.Query{Object: "correct-horse"}, nil, 0, 6},
			"request id":     {journal.Query{RequestID: "b"}, []uint64{4, 5}, 0, 6},
			"failed":         {journal.Query{Failed: true}, []uint64{2, 3}, 0, 6},
			"since":          {journal.Query{Since: later}, []uint64{4, 5, 6}, 1, 6},
			"two conditions": {journal.Query{Methods: mask("disk/v1"), Failed: true, Function: "OpenDevice"},
				[]uint64{2}, 0, 6},
			"limited":          {journal.Query{Function: "ReenumerateDevices", Limit: 1}, []uint64{1}, 0, 1},
			"after the limit":  {journal.Query{Function: "ReenumerateDevices", Limit: 1, After: 5}, []uint64{6}, 0, 6},
			"none, all looked": {journal.Query{RequestID: "z", Limit: 1}, nil, 0, 6},
		} {
			found := j.Find(test.query)
			if d := cmp.Diff(test.want, numbers(found.Entries)); d != "" || len(found.Running) != test.running ||
				found.Searched != test.searched {
				t.Errorf("%s: %d running, searched %d, (-want +got):\n%s", name, len(found.Running), found.Searched, d)
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
	for _, m := range journal.Messages(j.Find(journal.Query{}).Entries) {
		got = append(got, m.GetKernel().GetArguments()+m.GetApi().GetResponse())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
