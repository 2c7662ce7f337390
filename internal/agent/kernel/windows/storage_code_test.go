// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestStorageResult(t *testing.T) {
	if err := storageResult(0, nil); err != nil {
		t.Errorf("success is %v", err)
	}
	for returned, want := range map[uint32]win32.Errno{
		1: win32.ERROR_NOT_SUPPORTED, 43001: win32.ERROR_NOT_SUPPORTED,
		// Read as Win32 codes, these would be "file not found", "path not found" and "too many open files".
		2: win32.ERROR_GEN_FAILURE, 3: win32.ERROR_TIMEOUT, 4: win32.ERROR_GEN_FAILURE,
		5: win32.ERROR_INVALID_PARAMETER, 8: kernel.StorageNotInCache,
		40003: kernel.StorageCacheOutOfDate, 40006: kernel.StorageNotInCache, 41003: kernel.StorageDiskOffline,
		40001: win32.ERROR_ACCESS_DENIED, 40004: win32.ERROR_IO_DEVICE, 42010: win32.ERROR_ACCESS_DENIED,
		43006: win32.ERROR_WRITE_PROTECT, 4096: win32.ERROR_IO_PENDING,
		9: win32.ERROR_GEN_FAILURE, 46000: 46000, // unknown here
	} {
		if err := storageResult(returned, nil); !errors.Is(err, want) {
			t.Errorf("storageResult(%d): got %v, want %v", returned, err, want)
		}
	}
}

// TestSameVolume: the provider may list a volume under another of its names than a driver has.
func TestSameVolume(t *testing.T) {
	deviceOf := func(name string) string {
		return map[string]string{"first": `\Device\HarddiskVolume3`, "second": `\Device\HarddiskVolume3`,
			"other": `\Device\HarddiskVolume4`}[name]
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"first", "FIRST", true}, {"first", "second", true}, {"first", "other", false},
		{"gone", "GONE", true}, {"gone", "away", false}, {"first", "gone", false},
	} {
		if got := sameVolume(test.a, test.b, deviceOf); got != test.want {
			t.Errorf("%s and %s: %t", test.a, test.b, got)
		}
	}
}
