// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// TestStorageManagementOnThisMachine makes the kernel's three calls of the storage management API on the fake WMI. They
// are made without an agent, whose methods ask about disks first, and of those Wine knows none.
func TestStorageManagementOnThisMachine(t *testing.T) {
	const (
		volume = `\\?\Volume{0cb4b7b1-0000-4d5e-9a3b-2f0000000001}\`
		other  = `\\?\Volume{0cb4b7b1-0000-4d5e-9a3b-2f0000000002}\`
		format = " FileSystem='NTFS' FileSystemLabel='' Force=true Full=false"
		beyond = 5_000_000_000 // bytes: more than 32 bits hold
	)
	wmi, k := fakeWMI(t), windows.New()
	methods := func() (lines []string) {
		for _, line := range wmi.takeCalls("") {
			if strings.HasPrefix(line, "Format ") || strings.HasPrefix(line, "Resize ") ||
				strings.HasSuffix(line, " UpdateHostStorageCache") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	wantMethods := func(want ...string) {
		t.Helper()
		if got := methods(); !slices.Equal(got, want) {
			t.Errorf("the methods were %q, want %q", got, want)
		}
	}
	wantError := func(err error, want win32.Errno) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	const update = "ExecMethod MSFT_StorageSetting UpdateHostStorageCache"

	wmi.world("volume "+other, "volume "+volume)
	if err := k.FormatVolume(strings.ToUpper(volume[:12])+volume[12:], "NTFS"); err != nil {
		t.Error(err)
	}
	wantMethods("Format " + volume + format)

	// A new volume is found once the provider has looked again.
	wmi.world("volume "+other, "volume "+volume+" late")
	wantError(k.FormatVolume(volume, "NTFS"), kernel.StorageNotInCache)
	if err := errors.Join(k.UpdateStorageCache(), k.FormatVolume(volume, "NTFS")); err != nil {
		t.Error(err)
	}
	wantMethods(update, "Format "+volume+format)

	// What Format returns is the error.
	wmi.world("volume "+volume, "error MSFT_Volume.Format 40001")
	wantError(k.FormatVolume(volume, "NTFS"), win32.ERROR_ACCESS_DENIED)
	wantMethods() // the fake's provider was not asked

	// A partition is found by its disk and offset, and a size needs more than 32 bits.
	wmi.world("partition 1 1048576 1000000", "partition 2 65536 1000000",
		fmt.Sprintf("partition 2 %d 1000000", beyond))
	if err := k.ResizePartition(2, beyond, 2*beyond); err != nil {
		t.Error(err)
	}
	wantMethods(fmt.Sprintf("Resize %d Size='%d'", beyond, 2*beyond))
	wantError(k.ResizePartition(1, 65536, beyond), win32.ERROR_NOT_FOUND)
	wantError(k.ResizePartition(3, 65536, beyond), win32.ERROR_NOT_FOUND)
	wantMethods()

	// A method that began is not called again, even if the connection was lost.
	wmi.world("volume "+volume, "fail ExecMethod 800706BE 1")
	wantError(k.FormatVolume(volume, "NTFS"), win32.RPC_S_SERVER_UNAVAILABLE)
	wantMethods()
}
