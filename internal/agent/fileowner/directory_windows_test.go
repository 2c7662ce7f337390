// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// TestLogDirectoryAccess: only SYSTEM and administrators may change a directory that the agent makes, or its files.
func TestLogDirectoryAccess(t *testing.T) {
	descriptor, err := windows.SecurityDescriptorFromString(directorySDDL)
	if err != nil {
		t.Fatal(err)
	}
	control, _, err := descriptor.Control()
	if err != nil || control&windows.SE_DACL_PROTECTED == 0 {
		t.Errorf("a directory inherits from the one above: control %#x, %v", control, err)
	}
	dacl, _, err := descriptor.DACL()
	if err != nil {
		t.Fatal(err)
	}
	const reading = windows.FILE_GENERIC_READ | windows.FILE_GENERIC_EXECUTE
	for i := range uint32(dacl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(dacl, i, &ace); err != nil {
			t.Fatal(err)
		}
		sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		trusted := sid.IsWellKnown(windows.WinLocalSystemSid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid)
		if !trusted && uint32(ace.Mask)&^uint32(reading) != 0 {
			t.Errorf("%s has the rights %#x, more than reading", sid, ace.Mask)
		}
	}
}
