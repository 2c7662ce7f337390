// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Only SYSTEM and Administrators may read a directory of logs or records, or change it, and nothing is inherited.
func TestLogDirectoryAccess(t *testing.T) {
	const full, protected = 0x1f01ff, 0x10
	descriptor := private.Bytes()
	list, err := win32.ParseAccessList(descriptor)
	if err != nil || list.Everyone || descriptor[3]&protected == 0 {
		t.Fatalf("the list of %x inherits or is none: %v", descriptor, err)
	}
	entries := list.Allowed()
	for i, want := range []win32.SID{"S-1-5-18", "S-1-5-32-544"} {
		if len(entries) != 2 || entries[i] != (win32.AccessEntry{SID: want, Mask: full, Flags: 3}) {
			t.Fatalf("got %+v", entries)
		}
	}
}
