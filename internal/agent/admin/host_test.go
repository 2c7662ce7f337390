// SPDX-License-Identifier: Apache-2.0

//go:build unix

package admin_test

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestHostTrouble: an error because of the host of an emulated node says so, and keeps Windows' code. A reboot after
// which the node could not be read again is refused, and the node goes on when the host does.
func TestHostTrouble(t *testing.T) {
	for _, trouble := range []struct {
		errno syscall.Errno
		text  string
	}{
		{syscall.ENOSPC, "the disk is full (ERROR_DISK_FULL, 112), because of the host that emulates this node: no space left on device"},
		{syscall.EROFS, "because of the host that emulates this node: read-only file system"},
	} {
		t.Run(trouble.errno.Error(), func(t *testing.T) {
			var broken atomic.Bool
			n := testnode.Start(t, testnode.Options{Emulated: emulated.Options{Before: func(change, _ string) error {
				if broken.Load() && change == "write" {
					return trouble.errno
				}
				return nil
			}}})
			broken.Store(true)
			_, err := n.Disk.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: 1})
			if err == nil || !strings.Contains(err.Error(), trouble.text) {
				t.Errorf("partitioning: %v, want %q", err, trouble.text)
			}
			_, err = n.Admin(t).Reboot(t.Context(), &nodeapi.RebootRequest{})
			if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), trouble.errno.Error()) {
				t.Errorf("the reboot: %v, want a refusal with %q", err, trouble.errno)
			}
			broken.Store(false)
			_, err = n.Disk.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: 1})
			noError(t, err)
			_, err = n.Admin(t).Reboot(t.Context(), &nodeapi.RebootRequest{})
			noError(t, err)
		})
	}
}
