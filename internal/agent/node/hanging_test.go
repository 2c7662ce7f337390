// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// hanging is a node with two volumes, some of whose kernel calls hang until they are let go.
type hanging struct {
	*Node
	volumes []string
	mu      sync.Mutex
	hangs   func(kernel.Call) bool
	calls   map[string]int // by function, since hang
	letGo   chan struct{}
}

func newHanging(t *testing.T) *hanging {
	t.Helper()
	h := &hanging{letGo: make(chan struct{})}
	h.Node, _, h.volumes = withVolumes(t, false, func(_ *emulated.Node, call kernel.Call, do func() error) error {
		h.mu.Lock()
		hang := h.hangs != nil && h.hangs(call)
		if h.calls != nil {
			h.calls[call.Function]++
		}
		h.mu.Unlock()
		if hang {
			<-h.letGo
		}
		return do()
	})
	return h
}

func (h *hanging) hang(hangs func(kernel.Call) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hangs, h.calls = hangs, map[string]int{}
}

// calling selects the calls of a function for an object by a part of its name.
func calling(function, object string) func(kernel.Call) bool {
	return func(call kernel.Call) bool {
		return call.Function == function && strings.Contains(strings.ToLower(call.Object), strings.ToLower(object))
	}
}

// objectRead is a read of an object that hangs, and of another one of the kind.
type objectRead struct {
	hangs       func(kernel.Call) bool
	dead, other func(*calls.Calls) error
}

// of drops a read's answer.
func of[C, A, T any](read func(C, A) (T, error)) func(C, A) error {
	return func(c C, a A) error { _, err := read(c, a); return err }
}

func (h *hanging) reads() map[string]objectRead {
	const one, two = KubeletDir + `\pods\one`, KubeletDir + `\pods\two`
	number := func(function string, read func(*calls.Calls, uint32) error) objectRead {
		return objectRead{calling(function, "physicaldrive1"), func(c *calls.Calls) error { return read(c, 1) },
			func(c *calls.Calls) error { return read(c, 2) }}
	}
	text := func(function, object, dead, other string, read func(*calls.Calls, string) error) objectRead {
		return objectRead{calling(function, object), func(c *calls.Calls) error { return read(c, dead) },
			func(c *calls.Calls) error { return read(c, other) }}
	}
	volume := func(function string, read func(*calls.Calls, string) error) objectRead {
		return text(function, strings.Trim(h.volumes[0], `\?`), h.volumes[0], h.volumes[1], read)
	}
	exists := of((*calls.Calls).PathExists)
	return map[string]objectRead{
		"GetDiskStats": number("OpenDevice", of((*calls.Calls).GetDiskStats)),
		"GetDiskState": number("DeviceIoControl", of((*calls.Calls).GetDiskState)),
		"GetVolumeStats": volume("DiskFreeSpace", func(c *calls.Calls, id string) error {
			_, _, err := c.GetVolumeStats(id)
			return err
		}),
		"IsVolumeFormatted":         volume("VolumeInformation", of((*calls.Calls).IsVolumeFormatted)),
		"GetDiskNumberFromVolumeID": volume("DeviceIoControl", of((*calls.Calls).GetDiskNumberFromVolumeID)),
		"PathExists":                text("QueryAttributes", one, one, two, exists),
		"PathExists in a volume":    text("OpenFile", strings.Trim(h.volumes[0], `\?`), leafPath+`\below`, two, exists),
		"IsSymlink":                 text("OpenFile", leafPath, leafPath, two, of((*calls.Calls).IsSymlink)),
		"GetVolumeIDFromTargetPath": text("OpenFile", leafPath, leafPath, leafParent+`\other`,
			of((*calls.Calls).GetVolumeIDFromTargetPath)),
		"GetClosestVolumeIDFromTargetPath": text("FinalPath", one, one, two, of((*calls.Calls).GetClosestVolumeIDFromTargetPath)),
		"GetService": text("QueryService", "MSiSCSI", "MSiSCSI", "LanmanWorkstation",
			of((*calls.Calls).GetService)),
		"ListTargetPortals": {calling("ReportISCSISendTargetPortals", ""),
			func(c *calls.Calls) error { _, err := c.ListTargetPortals(); return err },
			func(c *calls.Calls) error { return exists(c, two) }},
	}
}

// Every read of an object that hangs is refused in the end, while the same read of another object is always answered.
func TestHungObjectBlocksNoOther(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys((&hanging{Node: bare(t, nil), volumes: make([]string, 2)}).reads())) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHanging(t)
				for i, path := range []string{leafPath, leafParent + `\other`} {
					must(t, by(t.Context(), h.Node).MountVolume(h.volumes[i], path))
				}
				for _, path := range []string{`\one`, `\two`} {
					must(t, by(t.Context(), h.Node).Mkdir(KubeletDir+`\pods`+path))
				}
				read := h.reads()[name]
				if err := read.dead(by(t.Context(), h.Node)); err != nil {
					t.Fatalf("before anything hangs: %v", err)
				}
				h.hang(read.hangs)
				refused := false
				for range 10 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					err := read.dead(by(ctx, h.Node))
					cancel()
					refused = refused || errdefs.HasReason(err, reason.NotAnswering)
					if err == nil {
						t.Error("what hangs is answered")
					}
					if err := read.other(by(t.Context(), h.Node)); err != nil {
						t.Errorf("another object: %v", err)
					}
				}
				if !refused {
					t.Error("reads of what hangs are never refused")
				}
				h.hang(nil)
				close(h.letGo)
				synctest.Wait()
				if err := read.dead(by(t.Context(), h.Node)); err != nil {
					t.Errorf("when it is answered again: %v", err)
				}
			})
		})
	}
}

// When a call asks every disk or volume, one that hangs is left out, and the call is answered.
func TestListingsOmitHungObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHanging(t)
		disk, volume := calling("DeviceIoControl", "prod_disk#1"), calling("OpenDevice", strings.Trim(h.volumes[1], `\?`))
		h.hang(func(call kernel.Call) bool { return disk(call) || volume(call) })
		defer close(h.letGo)
		ids, err := by(t.Context(), h.Node).ListDiskIDs()
		if _, listed := ids[1]; err != nil || listed || len(ids) != 2 {
			t.Errorf("ListDiskIDs: %v, %v, want the disks 0 and 2", ids, err)
		}
		locations, err := by(t.Context(), h.Node).ListDiskLocations()
		if err != nil || len(locations) != 2 {
			t.Errorf("ListDiskLocations: %v, %v, want the disks 0 and 2", locations, err)
		}
		if err := by(t.Context(), h.Node).Rescan(); err != nil {
			t.Errorf("Rescan: %v", err)
		}
		if _, err := by(t.Context(), h.Node).ListVolumesOnDisk(0); err != nil {
			t.Errorf("ListVolumesOnDisk: %v", err)
		}
		if seen, err := h.Disks.Facts(t.Context(), true); err != nil || len(seen.All) != 3 ||
			!seen.All[0].GetUnanswered() && !seen.All[1].GetUnanswered() {
			t.Errorf("the facts: %v, %v, want 3 disks, of which one does not answer", seen, err)
		}
		if seen, err := h.Volumes.Facts(t.Context()); err != nil || len(seen.All) != 3 || len(seen.Unknown) != 1 {
			t.Errorf("the facts: %v, %v, want 3 volumes, and why one is unknown", seen, err)
		}
	})
}

// Of calls that are made again while one hangs, those that only reach a state join it. Those that look at what may have
// changed meanwhile join each other.
func TestCallsBesideAHangingOne(t *testing.T) {
	for name, c := range map[string]struct {
		function string // hangs, and is called once by each run
		runs     int
		call     func(ctx context.Context, h *hanging) error
	}{
		"MountVolume": {"SetVolumeMountPoint", 1,
			func(ctx context.Context, h *hanging) error {
				return by(ctx, h.Node).MountVolume(h.volumes[0], leafPath)
			}},
		"UnmountVolume": {"DeleteVolumeMountPoint", 1,
			func(ctx context.Context, h *hanging) error {
				return by(ctx, h.Node).UnmountVolume(h.volumes[1], leafParent+`\other`)
			}},
		"Rmdir": {"SetInformation", 1,
			func(ctx context.Context, h *hanging) error {
				return by(ctx, h.Node).Rmdir(KubeletDir+`\pods\one`, false)
			}},
		"FormatVolume": {"VolumeInformation", 1,
			func(ctx context.Context, h *hanging) error { return by(ctx, h.Node).FormatVolume(h.volumes[0]) }},
		"WriteVolumeCache": {"Flush", 2,
			func(ctx context.Context, h *hanging) error { return by(ctx, h.Node).WriteVolumeCache(h.volumes[0]) }},
		"Rescan": {"ReenumerateDevices", 2, func(ctx context.Context, h *hanging) error { return by(ctx, h.Node).Rescan() }},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHanging(t)
			must(t, by(t.Context(), h.Node).MountVolume(h.volumes[1], leafParent+`\other`))
			must(t, by(t.Context(), h.Node).Mkdir(KubeletDir+`\pods\one`))
			h.hang(calling(c.function, ""))
			short, giveUp := context.WithTimeout(t.Context(), time.Second)
			defer giveUp()
			if err := c.call(short, h); err == nil {
				t.Errorf("%s: what hangs is answered", name)
			}
			var again sync.WaitGroup
			for range 2 {
				again.Go(func() {
					if err := c.call(t.Context(), h); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
				synctest.Wait()
			}
			close(h.letGo)
			again.Wait()
			if got := h.calls[c.function]; got != c.runs {
				t.Errorf("%s: %d calls of %s, want %d", name, got, c.function, c.runs)
			}
		})
	}
}
