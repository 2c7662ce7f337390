// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestCure(t *testing.T) {
	const full, read, user = 0x1f01ff, 0x1200a9, "S-1-5-21-1-2-3-1001"
	list := win32.NewProtectedList(
		win32.AccessEntry{SID: "S-1-5-18", Mask: full}, win32.AccessEntry{SID: user, Mask: full},
		win32.AccessEntry{SID: user, Mask: read}, win32.AccessEntry{SID: "S-1-5-32-545", Mask: read},
		win32.AccessEntry{SID: "S-1-1-0", Mask: read, Flags: win32.INHERITED_ACE})
	const owner = "\n  icacls \"C:\\a b\" /setowner \"*S-1-5-32-544\"\n  icacls \"C:\\a b\" /inheritance:r " +
		`/grant:r "*S-1-5-18:(OI)(CI)F" "*S-1-5-32-544:(OI)(CI)F"`
	for _, test := range []struct {
		name      string
		usersRead bool
		list      win32.AccessList
		want      string
	}{
		{"of records", false, list, owner + ` /remove:g "*` + user + `" "*S-1-5-32-545"`},
		{"of a program", true, list, owner + ` "*S-1-5-32-545:(OI)(CI)RX" /remove:g "*` + user + `"`},
		{"of others' inherited rights", false, win32.NewProtectedList(), owner},
	} {
		if got := cure(`C:\a b`, test.usersRead, test.list); got != test.want {
			t.Errorf("%s: got %s\nwant %s", test.name, got, test.want)
		}
	}
}
