// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/local"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The agent's operations on disks that drivers seldom have: on an emulated node always, and on a machine that may be
// changed.

func TestUnusualDisksOfAnEmulatedNode(t *testing.T) {
	if testnode.OnWine() {
		t.Skip("nothing of this depends on the system")
	}
	unusualDisks(t, emulatedSubject(t, scenario.Default().Switches))
}

// lateVolumes hides the volumes of a node until they were listed a number of times.
type lateVolumes struct {
	kernel.Kernel
	lists *atomic.Int32 // left
}

func (k lateVolumes) VolumeNames() ([]string, error) {
	if k.lists.Add(-1) >= 0 {
		return nil, nil
	}
	return k.Kernel.VolumeNames()
}

func (k lateVolumes) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	if k.lists.Load() > 0 && strings.HasPrefix(path, `\\?\Volume`) {
		return nil, win32.ERROR_FILE_NOT_FOUND
	}
	return k.Kernel.OpenDevice(path, access)
}

// lateDisk is a disk whose volumes arrive late.
type lateDisk struct {
	Disk
	lists *atomic.Int32
}

func (d lateDisk) Grow(bytes int64) (string, error) {
	d.lists.Store(3)
	return d.Disk.Grow(bytes)
}

func (d lateDisk) Attach() error {
	d.lists.Store(3)
	return d.Disk.Attach()
}

// The life of a disk that grows and is pulled waits for the volume wherever it may be late.
func TestLifeOfADiskWithALateVolume(t *testing.T) {
	if testnode.OnWine() {
		t.Skip("nothing of this depends on the system")
	}
	s := emulatedSubject(t, scenario.Default().Switches)
	lists, attach := new(atomic.Int32), s.Attach
	s.Kernel = lateVolumes{s.Kernel, lists}
	s.Attach = func(t testing.TB, bytes int64, sectorSize uint32) Disk {
		t.Helper()
		return lateDisk{attach(t, bytes, sectorSize), lists}
	}
	grownAndPulled(t, s, 512)
}

// agent returns an agent's operations on the subject.
func (q *inquiry) agent() *caller.Calls {
	q.Helper()
	n, err := node.New(q.Kernel, node.Config{WorkingDirs: []string{mountParent}})
	q.check(err)
	n.EnablePrivileges(q.Context())
	return caller.By(q, csiproxy.Over(local.New(apis.All(n), server.Options{Logger: klog.Background()})))
}

func unusualDisks(t *testing.T, s Subject) {
	t.Helper()
	mbr := make([]byte, 512)
	copy(mbr[440:], "\x12\x34\x56\x78")
	copy(mbr[510:], "\x55\xAA")
	partitioned := bytes.Clone(mbr)
	// NTFS, 128 MiB from 1 MiB on
	copy(partitioned[446:], "\x00\xFE\xFF\xFF\x07\xFE\xFF\xFF\x00\x08\x00\x00\x00\x00\x04\x00")
	// a signature of its own, or the second disk would be taken for a clone
	partitioned[440]++
	luks := make([]byte, 512)
	copy(luks, "LUKS\xBA\xBE\x00\x01")
	for name, test := range map[string]struct {
		content []byte
		refused bool
	}{
		"an MBR with a partition":   {partitioned, false},
		"an MBR without partitions": {mbr, true},
		"another system's content":  {luks, true},
	} {
		t.Run(name, func(t *testing.T) {
			q := &inquiry{TB: t, Subject: s}
			d := q.attach()
			// Windows reads the table when the disk comes.
			q.check(errors.Join(d.Write(0, test.content), d.Detach(), d.Attach()))
			h := q.openDisk(d.Number())
			defer h.Close()
			err := q.agent().PartitionDisk(d.Number())
			if refused := status.Code(err) == codes.FailedPrecondition; refused != test.refused || !refused && err != nil {
				t.Errorf("partitioning: %v", err)
			}
			got := make([]byte, 512)
			if _, err := h.ReadAt(got, 0); err != nil || !bytes.Equal(got, test.content) {
				t.Errorf("the first sector has changed, %v", err)
			}
		})
	}
	for name, sector := range map[string]uint32{"sectors of 512 bytes": 512, "sectors of 4096 bytes": 4096} {
		t.Run(name, func(t *testing.T) { grownAndPulled(t, s, sector) })
	}
}

// grownAndPulled takes a disk through a life in which it grows and is pulled out while it is mounted.
func grownAndPulled(t *testing.T, s Subject, sector uint32) {
	t.Helper()
	q := &inquiry{TB: t, Subject: s}
	n := q.agent()
	d := s.Attach(t, 2*gib, sector)
	// A volume arrives some time after its disk or partition. Until then only listing it waits.
	arrived := func() string {
		t.Helper()
		var volumes []string
		var failure error
		_, err := s.pollUntil(func() (bool, error) {
			volumes, failure = n.ListVolumesOnDisk(d.Number())
			return failure == nil, nil
		})
		q.check(errors.Join(err, failure))
		if len(volumes) != 1 {
			t.Fatalf("the volumes are %q", volumes)
		}
		return volumes[0]
	}
	q.check(n.PartitionDisk(d.Number()))
	volume := arrived()
	q.check(n.FormatVolume(volume))
	at := strings.TrimSuffix(q.mountPoint(), `\`)
	q.check(n.MountVolume(volume, at))
	before, _, err := n.GetVolumeStats(volume)
	q.check(err)
	q.grow(d, 3*gib)
	q.check(n.Rescan())
	q.check(n.ResizeVolume(arrived(), 0))
	after, _, err := n.GetVolumeStats(volume)
	q.check(err)
	if after < before+gib*9/10 {
		t.Errorf("the volume has %d bytes, it had %d", after, before)
	}
	q.check(d.Detach())
	for range 2 { // the second time it is not mounted
		q.check(n.UnmountVolume(volume, at))
	}
	q.check(d.Attach())
	q.check(n.Rescan())
	q.check(n.MountVolume(arrived(), at))
	q.check(n.UnmountVolume(volume, at))
}
