// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// cure returns the commands, each on a line of its own, that leave a directory with this list to SYSTEM and
// Administrators. Users keep the right to read and run what is there, where it is theirs to have. The accounts are
// named by SIDs, since names are translated.
// https://learn.microsoft.com/windows-server/administration/windows-commands/icacls
func cure(path string, usersRead bool, list win32.AccessList) string {
	const users = "S-1-5-32-545"
	granted := []string{string(win32.SystemSID()), string(win32.AdministratorsSID())}
	lines := "\n  icacls \"" + path + `" /setowner "*S-1-5-32-544"` + "\n  icacls \"" + path + `" ` +
		`/inheritance:r /grant:r "*S-1-5-18:(OI)(CI)F" "*S-1-5-32-544:(OI)(CI)F"`
	if usersRead {
		granted = append(granted, users)
		lines += ` "*` + users + `:(OI)(CI)RX"`
	}
	var others strings.Builder
	for _, entry := range list.Allowed() {
		sid := string(entry.SID)
		if entry.Flags&win32.INHERITED_ACE == 0 && !slices.Contains(granted, sid) {
			granted = append(granted, sid)
			others.WriteString(` "*` + sid + `"`)
		}
	}
	if others.Len() > 0 {
		lines += " /remove:g" + others.String()
	}
	return lines
}
