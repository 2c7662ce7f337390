// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	diskgroup "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	volumegroup "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// callers is how many drivers make the same call at the same time, each on its own connection.
const callers = 8

// concurrently makes a call on the connections of all callers at once and returns what each got.
func concurrently(t *testing.T, n *testnode.Node,
	call func(i int, d *diskgroup.Client, v *volumegroup.Client) error) []error {
	t.Helper()
	results := make([]error, callers)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range callers {
		d, err := diskgroup.NewClientWithPipePath(n.Socket("disk", "v1"))
		noError(t, err)
		t.Cleanup(func() { _ = d.Close() })
		v, err := volumegroup.NewClientWithPipePath(n.Socket("volume", "v2alpha1"))
		noError(t, err)
		t.Cleanup(func() { _ = v.Close() })
		all.Go(func() {
			<-begin
			results[i] = call(i, d, v)
		})
	}
	close(begin)
	all.Wait()
	return results
}

// count returns how many kernel calls there were since the last time, by function and control code.
func count(n *testnode.Node, function string, code uint32) int {
	found := 0
	for _, c := range n.Faults.Calls() {
		if c.Function == function && (code == 0 || c.Code == code) {
			found++
		}
	}
	return found
}

// Of callers that partition one disk, one does it, and the others get its result.
func TestConcurrentPartitions(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	n.Faults.Calls()
	for i, err := range concurrently(t, n, func(_ int, d *diskgroup.Client, _ *volumegroup.Client) error {
		_, err := d.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: 1})
		return err
	}) {
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if made := count(n, "DeviceIoControl", win32.IOCTL_DISK_CREATE_DISK); made != 1 {
		t.Errorf("the disk was initialised %d times", made)
	}
	if ids := volumes(t, n, 1); len(ids) != 1 {
		t.Errorf("the disk has the volumes %q, want one", ids)
	}
}

// Of callers that format one volume, one does it; this includes those that ask when it is done and has data.
func TestConcurrentFormats(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	noError(t, partitionDisk(t, n, 1))
	id := volumes(t, n, 1)[0]
	n.Faults.Calls()
	work := func(i int, _ *diskgroup.Client, v *volumegroup.Client) error {
		if _, err := v.FormatVolume(t.Context(), &volumeapi.FormatVolumeRequest{VolumeId: id}); err != nil {
			return err
		}
		_, err := v.MountVolume(t.Context(), &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: dataStaging})
		if err == nil {
			n.WriteFile(dataStaging+`\data`+string(rune('0'+i)), precious)
		}
		return err
	}
	for i, err := range concurrently(t, n, work) {
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if made := count(n, "FormatVolume", 0); made != 1 {
		t.Errorf("the volume was formatted %d times", made)
	}
	for i := range callers {
		if got := n.ReadFile(dataStaging + `\data` + string(rune('0'+i))); got != precious {
			t.Errorf("the data of caller %d is %q", i, got)
		}
	}
}

// Of callers that mount different volumes at one path, one does it, and the others are told.
func TestConcurrentMounts(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	ids := make([]string, callers)
	for i := range ids {
		ids[i] = volumes(t, n, attachDisk(t, n, emulated.DiskSpec{Formatted: true}))[0]
	}
	results := concurrently(t, n, func(i int, _ *diskgroup.Client, v *volumegroup.Client) error {
		_, err := v.MountVolume(t.Context(), &volumeapi.MountVolumeRequest{VolumeId: ids[i], TargetPath: dataStaging})
		return err
	})
	winner := slices.Index(results, nil)
	if winner < 0 {
		t.Fatalf("no caller mounted: %v", results)
	}
	for i, err := range results {
		if i != winner && status.Code(err) != codes.FailedPrecondition {
			t.Errorf("caller %d beside the winner %d: %v", i, winner, err)
		}
	}
	reply, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(),
		&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: dataStaging})
	if err != nil || reply.GetVolumeId() != ids[winner] {
		t.Errorf("mounted is %s (%v), want that of the winner, %s", reply.GetVolumeId(), err, ids[winner])
	}
	for i, id := range ids {
		if i != winner { // a loser does not take the winner's volume away
			wantCode(t, "UnmountVolume of a loser", unmountVolume(t, n, id, dataStaging), codes.FailedPrecondition)
		}
	}
}
