// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"math"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// The space available to the caller counts, not the space free for all: the difference is a quota.
func TestSpaceCountsTheQuota(t *testing.T) {
	size := win32.FileFsFullSize{TotalAllocationUnits: 100, CallerAvailableAllocationUnits: 30,
		ActualAvailableAllocationUnits: 90, SectorsPerAllocationUnit: 8, BytesPerSector: 512}
	if total, available, ok := size.Space(); !ok || total != 100*4096 || available != 30*4096 {
		t.Errorf("got %d bytes, %d available, %t", total, available, ok)
	}
	for name, change := range map[string]func(*win32.FileFsFullSize){
		"more available than there is": func(s *win32.FileFsFullSize) { s.CallerAvailableAllocationUnits = 101 },
		"less available than nothing":  func(s *win32.FileFsFullSize) { s.CallerAvailableAllocationUnits = -1 },
		"no sector":                    func(s *win32.FileFsFullSize) { s.BytesPerSector = 0 },
		"more bytes than an int64 has": func(s *win32.FileFsFullSize) { s.TotalAllocationUnits = math.MaxInt64 / 4095 },
	} {
		wrong := size
		change(&wrong)
		if total, available, ok := wrong.Space(); ok {
			t.Errorf("%s: got %d bytes, %d available", name, total, available)
		}
	}
}
