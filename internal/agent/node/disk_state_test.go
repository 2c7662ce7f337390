// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
)

// TestOfflineDiskThatIsToldToLook: whatever Windows answers then, the disk is offline.
func TestOfflineDiskThatIsToldToLook(t *testing.T) {
	k := emulate(t, emulated.Options{})
	n := bare(t, kernel.Intercept(t.Context(), k, nil, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Code == win32.IOCTL_DISK_UPDATE_PROPERTIES {
			return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_INVALID_FUNCTION}
		}
		return do()
	}))
	if err := by(t.Context(), n).SetDiskState(1, false); err != nil {
		t.Error(err)
	}
	if online, err := by(t.Context(), n).GetDiskState(1); err != nil || online {
		t.Errorf("online: %t, %v", online, err)
	}
	if err := by(t.Context(), n).SetDiskState(1, true); !errors.Is(err, win32.ERROR_INVALID_FUNCTION) {
		t.Errorf("a disk that comes online: %v", err)
	}
}

// TestVolumesOfADiskThatGoesOffline: a volume that stays in use is flushed, and the log says so; one that a program has
// open for a moment is waited for. The agent's own lock is not in the way of a volume that lies at two places of the
// disk.
func TestVolumesOfADiskThatGoesOffline(t *testing.T) {
	const lock, dismount, flush = "lock", "dismount", "flush"
	for name, c := range map[string]struct {
		extents int
		refused uint32 // this control code
		held    int    // so many locks are attempted while another program has the volume open
		want    []string
	}{
		"not in use":              {1, 0, 0, []string{lock, dismount}},
		"in use":                  {1, win32.FSCTL_LOCK_VOLUME, 0, []string{lock, flush}},
		"in use for a moment":     {1, 0, 3, []string{lock, dismount}},
		"it refuses to dismount":  {1, win32.FSCTL_DISMOUNT_VOLUME, 0, []string{lock, dismount, flush}},
		"at two places of a disk": {2, 0, 0, []string{lock, dismount}},
		"of a dynamic disk":       {1, 0, 0, []string{lock, dismount}},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := emulate(t, emulated.Options{})
			s := &spanned{Node: k}
			var steps []string
			var other kernel.Handle
			n := bare(t, kernel.Intercept(t.Context(), s, nil, func(_ context.Context, call kernel.Call, do func() error) error {
				switch {
				case call.Code == win32.FSCTL_LOCK_VOLUME:
					if steps = append(steps, lock); len(steps) == c.held {
						defer func() { _ = other.Close() }()
					}
				case call.Code == win32.FSCTL_DISMOUNT_VOLUME:
					steps = append(steps, dismount)
				case call.Function == "Flush":
					steps = append(steps, flush)
				}
				if call.Code != 0 && call.Code == c.refused {
					return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_ACCESS_DENIED}
				}
				return do()
			}))
			must(t, by(t.Context(), n).PartitionDisk(1))
			lies := uint32(1)
			if name == "of a dynamic disk" { // its partitions have no volumes; one that begins elsewhere lies on it, too
				lies = 2
				must(t, by(t.Context(), n).PartitionDisk(lies))
				must(t, n.change(t.Context(), operation.On("test", operation.Disk(1)), changing(1, func(_ *op, d *disk) error {
					layout, err := d.layout()
					must(t, err)
					layout.Partitions[len(layout.Partitions)-1].Type = win32.PartitionLDMData
					return d.setLayout(layout)
				})))
			}
			ids, err := by(t.Context(), n).ListVolumesOnDisk(lies)
			must(t, err)
			s.volume = ids[0]
			for i := range int64(c.extents) {
				s.extents = append(s.extents, win32.DiskExtent{DiskNumber: 1, StartingOffset: 32<<20 + i<<30, Length: 1 << 20})
			}
			if c.held > 0 {
				id, err := parseVolumeID(ids[0])
				must(t, err)
				if other, err = k.OpenDevice(id.Device(), win32.GENERIC_READ); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
			if err := by(ctx, n).SetDiskState(1, false); err != nil {
				t.Error(err)
			}
			if repeated := len(steps) > len(c.want); repeated != (c.refused == win32.FSCTL_LOCK_VOLUME || c.held > 0) {
				t.Errorf("%s: it was asked to %q", name, steps)
			}
			if steps = slices.Compact(steps); !slices.Equal(steps, c.want) {
				t.Errorf("%s: it was asked to %q, want %q", name, steps, c.want)
			}
			inUse := slices.Contains(c.want, flush)
			if strings.Contains(log.String(), "in use") != inUse || !inUse && log.Len() > 0 {
				t.Errorf("%s: the log does not say whether it is in use:\n%s", name, &log)
			}
		})
	}
}

// A call is not joined to one that does the opposite: each is done, one after the other.
func TestOppositeStatesAreNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		n, _ := nodeWith(t, func(_ context.Context, call kernel.Call, do func() error) error {
			if call.Code == win32.IOCTL_DISK_SET_DISK_ATTRIBUTES {
				<-goOn
			}
			return do()
		}, bundle.Spec{SizeBytes: 64 << 20, Offline: true})
		states := make(chan error, 2)
		for _, online := range []bool{true, false} {
			go func() { states <- by(t.Context(), n).SetDiskState(1, online) }()
			synctest.Wait()
		}
		close(goOn)
		must(t, <-states)
		must(t, <-states)
		if online, err := by(t.Context(), n).GetDiskState(1); online || err != nil {
			t.Errorf("the disk is online: %t, %v", online, err)
		}
	})
}
