// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// TestDiskReadOnly: the attribute is separate from online and offline, and errors are those of the client.
func TestDiskReadOnly(t *testing.T) {
	n := start(t, Options{})
	if Of(n.Client()) != n || Of(csiproxy.New(csiproxy.Options{})) != nil ||
		Of(csiproxy.Over(n.Client().Connection())) != n {
		t.Error("a client is not known for that of its node, or for that of an agent")
	}
	for _, number := range []uint32{1, 2} { // online, offline
		before, err := n.Client().Disk.GetDiskState(t.Context(), &diskapi.GetDiskStateRequest{DiskNumber: number})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{true, true, false, false} {
			if err := n.SetDiskReadOnly(t.Context(), number, want); err != nil {
				t.Fatal(err)
			}
			if got, err := n.GetDiskReadOnly(t.Context(), number); got != want || err != nil {
				t.Errorf("disk %d: read-only is %t, %v, want %t", number, got, err, want)
			}
			after, err := n.Client().Disk.GetDiskState(t.Context(), &diskapi.GetDiskStateRequest{DiskNumber: number})
			if err != nil || after.GetIsOnline() != before.GetIsOnline() {
				t.Errorf("disk %d: online became %v, %v", number, after, err)
			}
		}
	}
	failure := (*csiproxy.Error)(nil)
	if err := n.SetDiskReadOnly(t.Context(), 0, true); !errors.As(err, &failure) || failure.Reason != "SYSTEM_DISK" ||
		failure.Method != "MakeDiskReadOnly" {
		t.Errorf("the system disk: %v, want SYSTEM_DISK", err)
	}
	if _, err := n.GetDiskReadOnly(t.Context(), 77); status.Code(err) != codes.NotFound {
		t.Errorf("a disk that is not there: %v, want NotFound", err)
	}
	if _, err := n.Client().Disk.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: 1}); err != nil {
		t.Errorf("the disk is not writable again: %v", err)
	}
}
