// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40

func sizes() []int64 {
	return []int64{512, 4096, mib, 4 * mib, 8*mib + 512, 64 * mib, 10 * gib, 10*gib + 512*7, 3*tib + 4096*5, 16 * tib}
}

// TestProbesAreReadable: whole sectors within the disk, in order, apart from each other, and not too much.
func TestProbesAreReadable(t *testing.T) {
	for _, size := range sizes() {
		total, reads, end := int64(0), int64(0), int64(-1)
		for _, p := range probesOf(size) {
			sector := int64(512)
			if size%4096 == 0 {
				sector = 4096
			}
			if p.start <= end || p.end <= p.start || p.end > size || p.start%sector != 0 || p.end%sector != 0 {
				t.Errorf("size %d: the probe %+v after %d", size, p, end)
			}
			end = p.end
			total += p.end - p.start
			reads += (p.end - p.start + mib - 1) / mib
		}
		if total > 17*mib || reads > 120 {
			t.Errorf("size %d: %d bytes in %d reads", size, total, reads)
		}
	}
}

// TestProbesCoverSecondCopies: the places where formats keep what a wiped beginning leaves.
func TestProbesCoverSecondCopies(t *testing.T) {
	const size = 5 * tib
	probes := probesOf(size)
	for name, at := range map[string]int64{
		"the first byte": 0, "VMFS": 1 * mib, "the file system of VMFS": 2 * mib, "the second header of LUKS2": 4*mib - 4096,
		"ext4, 1 KiB, group 1": 8193 << 10, "ext4, 4 KiB, group 1": 32768 * 4096, "ext4, 4 KiB, group 3": 3 * 32768 * 4096,
		"ext4, 64 KiB, group 1": 524288 * 65536, "Btrfs": 64 * mib, "Btrfs, second mirror": 256 * gib,
		"XFS, 1 TiB groups": tib - 4096, "XFS, quarters": size / 4,
		"NTFS, $MFTMirr in the middle": size / 2, "NTFS, $MFT": 3 * gib,
		"mdadm 0.90": size - 64<<10, "the backup boot sector of NTFS": size - 512, "the last byte": size - 1,
	} {
		if !covered(probes, at) {
			t.Errorf("%s, at byte %d, is not looked at", name, at)
		}
	}
	count := 0
	for i := range int64(samples) {
		if covered(probes, size/samples*i) {
			count++
		}
	}
	if count != samples {
		t.Errorf("%d samples, want %d", count, samples)
	}
}

// TestBothEndsAreCovered, also where the beginning, the samples and the end run into one another.
func TestBothEndsAreCovered(t *testing.T) {
	for _, size := range append(sizes(), 5*mib) {
		probes := probesOf(size)
		for _, at := range []int64{0, min(size, edgeLength) - 1, max(size-edgeLength, 0), size - 1} {
			if !covered(probes, at) {
				t.Errorf("size %d: byte %d is not looked at", size, at)
			}
		}
	}
}

func covered(probes []span, at int64) bool {
	for _, p := range probes {
		if p.start <= at && at < p.end {
			return true
		}
	}
	return false
}

func TestSpansWithout(t *testing.T) {
	got := subtract([]span{{0, 10}, {20, 30}, {40, 50}}, []span{{0, 2}, {5, 6}, {18, 32}, {45, 60}})
	want := []span{{2, 5}, {6, 10}, {40, 45}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, want %v", got, want)
	}
}

// slow is a blank disk that takes its time for each read.
type slow struct {
	kernel.Handle
	each  time.Duration
	fails bool
	ends  bool // in the middle of what is read
}

func (s slow) ReadAt(p []byte, _ int64) (int, error) {
	time.Sleep(s.each)
	if s.fails {
		return 0, win32.ERROR_CRC
	}
	clear(p)
	if s.ends {
		return len(p) / 2, io.EOF
	}
	return len(p), nil
}

// TestLookingIsBounded: a disk that is too slow, or that cannot be read, is not blank.
func TestLookingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		found, err := contentOf(slow{each: time.Second}, operation.Disk(7), probesOf(10*gib))
		var refused *errdefs.Error
		if !errors.As(err, &refused) || refused.Class != errdefs.DeadlineExceeded || refused.Reason != "NOT_SEEN_BLANK" ||
			!strings.Contains(refused.Message, "disk 7") {
			t.Errorf("a slow disk: %q, %v", found, err)
		}
		if took := time.Since(began); took > blankTime+2*time.Second {
			t.Errorf("it took %v", took)
		}
		if found, err := contentOf(slow{each: 100 * time.Millisecond}, operation.Disk(7), probesOf(10*gib)); found != "" ||
			err != nil {
			t.Errorf("a disk with 100 ms a read: %q, %v", found, err)
		}
		if _, err := contentOf(slow{fails: true}, operation.Disk(7), probesOf(10*gib)); !errdefs.HasCode(err, win32.ERROR_CRC) {
			t.Errorf("a disk that cannot be read: %v", err)
		}
		if _, err := contentOf(slow{ends: true}, operation.Disk(7), probesOf(10*gib)); !errors.Is(err, io.EOF) {
			t.Errorf("a disk that ends before its end: %v", err)
		}
	})
}
