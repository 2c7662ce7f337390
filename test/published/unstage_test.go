// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"testing"

	"google.golang.org/grpc/codes"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// TestUnstageInterrupted: after a failure before or after any call of the API, unstaging again takes the disk offline and
// leaves nothing at the path; a disk that is in use elsewhere stays online.
func TestUnstageInterrupted(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx, m, match := t.Context(), n.seeing(), mounter.BySerialNumber(serial)
	online := func() bool {
		state, err := n.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: 1})
		check(t, "asking for the disk's state", err)
		return state.GetIsOnline()
	}
	for call := range 24 {
		if !testnode.Sampled(call, 1, 3) {
			continue
		}
		_, err := m.StageDisk(ctx, match, staging, mounter.StageOptions{})
		check(t, "staging", err)
		fail := n.FailRPC
		if call%2 == 1 {
			fail = n.FailRPCAfter
		}
		end := fail(csiproxytest.Calls{Method: "*", Skip: call / 2, Times: 1}, codes.Internal, "the node failed")
		_ = m.UnstageDisk(ctx, match, staging)
		end()
		for range 2 {
			check(t, "unstaging again", m.UnstageDisk(ctx, match, staging))
		}
		if exists, err := m.PathExists(ctx, staging); exists || err != nil || online() {
			t.Errorf("call %d failed, and afterwards the path exists: %t, %v; the disk is online: %t", call, exists, err, online())
		}
	}
	for _, volume := range []string{"a", "b"} {
		_, err := m.StageDisk(ctx, match, targetOf(volume), mounter.StageOptions{})
		check(t, "staging", err)
	}
	check(t, "unstaging the first", m.UnstageDisk(ctx, match, targetOf("a")))
	if !online() {
		t.Error("the disk went offline under another mount point")
	}
	n.DetachDisk(1)
	check(t, "unstaging a disk that is gone", m.UnstageDisk(ctx, match, targetOf("b")))
}
