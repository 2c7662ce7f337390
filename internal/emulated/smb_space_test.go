// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// TestSpaceOfShares: a server reports the size of a share in units, and what is left of an account's quota as the
// total and the free space of that account. [MS-FSCC] 2.5.4 FileFsFullSizeInformation.
func TestSpaceOfShares(t *testing.T) {
	n := smbNode(t)
	must(t, mapShare(n, emulatedShare, "csi", "csi-password"))
	path, err := n.HostPath(emulatedShare)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(path, "data"), make([]byte, 5000), 0o600))
	const sectors, sector = 8, 512
	for _, c := range []struct {
		name        string
		size, quota int64
		want        win32.FileFsFullSize
	}{
		{"the default", 0, 0, win32.FileFsFullSize{TotalAllocationUnits: 1 << 28,
			CallerAvailableAllocationUnits: 1<<28 - 2, ActualAvailableAllocationUnits: 1<<28 - 2}},
		{"a size", 40960, 0, win32.FileFsFullSize{TotalAllocationUnits: 10, CallerAvailableAllocationUnits: 8,
			ActualAvailableAllocationUnits: 8}},
		{"a quota", 40960, 16384, win32.FileFsFullSize{TotalAllocationUnits: 4, CallerAvailableAllocationUnits: 2,
			ActualAvailableAllocationUnits: 8}},
		{"a quota that is used up", 40960, 4096, win32.FileFsFullSize{TotalAllocationUnits: 1,
			ActualAvailableAllocationUnits: 8}},
		{"a full share", 4096, 16384, win32.FileFsFullSize{TotalAllocationUnits: 1}},
	} {
		must(t, n.SetSMBShareSpace("FS.emulated", "Share", c.size, c.quota))
		h, err := openShare(n, emulatedShare)
		must(t, err)
		var out [win32.SizeofFileFsFullSize]byte
		must(t, h.FsInformation(win32.FileFsFullSizeInformation, out[:]))
		got, err := win32.ParseFileFsFullSize(out[:])
		must(t, err)
		c.want.SectorsPerAllocationUnit, c.want.BytesPerSector = sectors, sector
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
		wantCode(t, "another class", h.FsInformation(1, out[:]), win32.ERROR_INVALID_PARAMETER)
		wantCode(t, "a short buffer", h.FsInformation(win32.FileFsFullSizeInformation, out[:31]), win32.ERROR_BAD_LENGTH)
		must(t, h.Close())
	}
	for what, c := range map[string]struct{ got, want error }{
		"no share":         {n.SetSMBShareSpace("fs.emulated", "none", 0, 0), smb.ErrNoSuch},
		"less than 0":      {n.SetSMBShareSpace("fs.emulated", "share", -1, 0), smb.ErrInvalid},
		"more than 16 TiB": {n.SetSMBShareSpace("fs.emulated", "share", 0, setting.MaxSize+1), smb.ErrInvalid},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", what, c.got, c.want)
		}
	}
	files := n.Surroundings().SMB
	if got := files.Share("fs.emulated", "share"); got.SizeBytes != 4096 || got.QuotaBytes != 16384 {
		t.Errorf("what was refused is set: %+v", got)
	}
}
