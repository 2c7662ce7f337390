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

// The lists of directories and files that an earlier release made are told from all others.
func TestListsOfAnEarlierRelease(t *testing.T) {
	const full, read, users = 0x1f01ff, 0x1200a9, "S-1-5-32-545"
	entry := func(sid win32.SID, mask uint32, flags uint8) win32.AccessEntry {
		return win32.AccessEntry{SID: sid, Mask: mask, Flags: flags}
	}
	list := func(flags uint8, more ...win32.AccessEntry) win32.AccessList {
		return win32.NewProtectedList(append([]win32.AccessEntry{entry("S-1-5-18", full, flags),
			entry("S-1-5-32-544", full, flags)}, more...)...)
	}
	unprotected := list(3, entry(users, read, 3)).Bytes()
	unprotected[3] = 0x80 // SE_SELF_RELATIVE alone
	inherits, err := win32.ParseAccessList(unprotected)
	if err != nil {
		t.Fatal(err)
	}
	denied := list(3, entry(users, read, 3), entry("S-1-1-0", read, 3)).Bytes()
	denied[len(denied)-20] = 1 // ACCESS_DENIED_ACE_TYPE of the last entry
	denies, err := win32.ParseAccessList(denied)
	if err != nil {
		t.Fatal(err)
	}
	none := list(0).Bytes()
	none[16] = 0
	everyone, err := win32.ParseAccessList(none)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name            string
		list            win32.AccessList
		directory, file bool
	}{
		{"a directory", list(3, entry(users, read, 3)), true, true},
		{"a file, of inherited entries", list(0x10, entry(users, read, 0x10)), false, true},
		{"a file, of entries without a mark", list(0, entry(users, read, 0)), false, true},
		{"without Users", list(3), false, false},
		{"Users may write", list(3, entry(users, read|2, 3)), false, false},
		{"another reader, too", list(3, entry(users, read, 3), entry("S-1-5-21-1-2-3-1001", read, 3)), false, false},
		{"others read", list(3, entry("S-1-5-11", read, 3)), false, false},
		{"others may not", denies, false, false},
		{"it inherits", inherits, false, true},
		{"no list", everyone, false, false},
	} {
		if got := isReadable(test.list); got != test.directory {
			t.Errorf("%s: as a directory: got %v", test.name, got)
		}
		if got := inReadable(test.list); got != test.file {
			t.Errorf("%s: as a file: got %v", test.name, got)
		}
	}
	for owner, want := range map[string]bool{"S-1-5-18": true, "S-1-5-32-544": true, "S-1-5-21-1-2-3-500": false,
		users: false} {
		if ours(owner) != want {
			t.Errorf("owner %s: got %v", owner, !want)
		}
	}
}
